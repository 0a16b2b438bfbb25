"""Factorials without recursion and without a loop: by agents that ask each other.

An agent is a tasklet with a channel of its own.  The agent for n knows nothing but how to multiply:
it asks the agent for n - 1, waits for the answer, and answers its own caller.  An agent that does
not exist yet is created when it is needed; so the first question creates a thousand agents, which
answer the next one from memory.

Shows: a channel as the address of a tasklet, and tasklets that live as long as their channel.
Run: python examples/stackless/factorial_agents.py
"""

import loomlet.compat.stackless as stackless


class Agent:
    """Answers the same question, n!, as often as it is asked."""

    known = {}  # noqa: RUF012 - one telephone book for all of them
    computed = 0

    def __init__(self, n):
        self.n = n
        self.questions = stackless.channel()
        stackless.tasklet(self.live)()

    @classmethod
    def of(cls, n):
        """The agent for n, made when it is needed first."""
        if n not in cls.known:
            cls.known[n] = cls(n)
        return cls.known[n]

    def ask(self):
        """Sends a channel to answer to, and waits for the answer."""
        answer = stackless.channel()
        self.questions.send(answer)
        return answer.receive()

    def live(self):
        memory = None
        for answer in self.questions:
            if memory is None:
                memory = 1 if self.n == 0 else self.n * Agent.of(self.n - 1).ask()
                Agent.computed += 1
            answer.send(memory)


def main():
    for n in (5, 10, 20):
        print(f"{n}! = {Agent.of(n).ask()}")
    digits = len(str(Agent.of(1000).ask()))
    print(f"1000! has {digits} digits")
    print(f"{len(Agent.known)} agents, {Agent.computed} multiplications")
    for agent in Agent.known.values():
        agent.questions.send_exception(StopIteration)  # ends its loop
    stackless.run()
    print(f"{stackless.getruncount()} tasklet is left")


if __name__ == "__main__":
    main()
