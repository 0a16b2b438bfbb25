"""A pool of workers: what fails is a result like others; the first fatal failure ends them all."""

import loomlet


def parse(text):
    loomlet.sleep(0.01)
    return int(text)


def guarded(text):
    try:
        return parse(text)
    except ValueError as error:
        return error


def main():
    print(loomlet.map(guarded, ["1", "two", "3"], limit=2))
    try:
        loomlet.map(parse, ["1", "two", "3"], limit=2)
    except* ValueError as group:
        print(group.exceptions[0])


loomlet.run(main)
