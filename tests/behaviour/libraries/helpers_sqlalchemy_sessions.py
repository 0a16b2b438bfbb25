"""A program with threads: SQLAlchemy sessions, all open at once, on psycopg; knows no loomlet.

    python helpers_sqlalchemy_sessions.py PORT COUNT [ROUNDS]
    python -m loomlet run helpers_sqlalchemy_sessions.py PORT COUNT [ROUNDS]

The port is that of a PostgreSQL server.  In each round COUNT threads add a row, wait for each other
and for the server inside their transactions, and read it back.  Prints what was read, and on stderr
the seconds and the processor time of each round: so the two lines above can be compared.
"""

from __future__ import annotations

import sys
import threading
import time

from sqlalchemy import String, create_engine, func, select, text
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column


class Base(DeclarativeBase):
    pass


class Thing(Base):
    __tablename__ = "things"
    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str] = mapped_column(String)


def main(port: int, count: int, rounds: int) -> None:
    address = f"postgresql+psycopg://postgres@127.0.0.1:{port}/postgres"
    engine = create_engine(address, pool_size=count, max_overflow=0)
    Base.metadata.drop_all(engine)
    Base.metadata.create_all(engine)
    together = threading.Barrier(count)

    def use(number: int) -> None:
        with Session(engine) as session:
            session.add(Thing(name=f"thing {number}"))
            session.flush()
            together.wait()
            session.execute(text("select pg_sleep(0.02)"))
            session.commit()
            named = select(func.count()).where(Thing.name == f"thing {number}")
            session.scalars(named).one()

    for _ in range(rounds):
        began = time.perf_counter(), time.process_time()
        threads = [threading.Thread(target=use, args=[number]) for number in range(count)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        took = time.perf_counter() - began[0], time.process_time() - began[1]
        print("{:.3f} s, {:.3f} s of the processor".format(*took), file=sys.stderr)
    with Session(engine) as session:
        print(session.scalars(select(func.count(Thing.name.distinct()))).one(), "things")
        print(session.scalars(select(func.count()).select_from(Thing)).one(), "rows")
    engine.dispose()


main(int(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]) if len(sys.argv) > 3 else 1)
