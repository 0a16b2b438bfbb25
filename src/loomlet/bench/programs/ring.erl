%% The ring and the necklace on Erlang processes.
%%
%%     ring:main([Nodes, Rounds, Necklace, Printed])      (strings; the last two are "0" or "1")
%%
%% Prints one line of JSON: the seconds of the message phase and the hops that the members counted.
%% A send never waits here: in the necklace all messages may be under way at once.
-module(ring).
-export([main/1]).

main(Arguments) ->
    [Nodes, Rounds, Necklace, Printed] = [list_to_integer(A) || A <- Arguments],
    {Micros, Hops} = pass(Nodes, Rounds, Necklace =:= 1, device(Printed)),
    io:format("{\"seconds\": ~.9f, \"hops\": ~b}~n", [Micros / 1.0e6, Hops]),
    erlang:halt(0).

device(0) -> none;
device(1) ->
    {ok, Device} = file:open("/dev/null", [write, {delayed_write, 8192, 1000}]),
    Device.

pass(Nodes, Rounds, true, Device) ->
    First = strand(Nodes, Rounds, Device),
    Started = erlang:monotonic_time(microsecond),
    spawn(fun() -> source(Rounds, First) end),
    sink(Rounds),
    Elapsed = erlang:monotonic_time(microsecond) - Started,
    {Elapsed, collect(Nodes, 0)};
pass(Nodes, Rounds, false, Device) ->
    First = strand(Nodes - 1, Rounds, Device),
    Started = erlang:monotonic_time(microsecond),
    Own = start(Rounds, 0, First),
    Elapsed = erlang:monotonic_time(microsecond) - Started,
    {Elapsed, collect(Nodes - 1, Own)}.

%% A row of members whose last one sends to this process; gives the first.
strand(0, _, _) -> self();
strand(Members, Rounds, Device) ->
    Main = self(),
    Name = fun(Left) -> Members - Left end,
    Link = fun(Left, Next) ->
        spawn(fun() -> member(Name(Left), Rounds, Next, Main, Device) end)
    end,
    lists:foldl(Link, Main, lists:seq(1, Members)).

member(_, Rounds, Next, Main, none) ->
    Main ! {hops, node(Rounds, 0, Next)};
member(Name, Rounds, Next, Main, Device) ->
    Main ! {hops, loud(Name, Rounds, 0, Next, Device)}.

node(Rounds, Rounds, _) -> Rounds;
node(Rounds, Hop, Next) ->
    receive
        {pass, Message} -> Next ! {pass, Message}
    end,
    node(Rounds, Hop + 1, Next).

loud(_, Rounds, Rounds, _, _) -> Rounds;
loud(Name, Rounds, Hop, Next, Device) ->
    receive
        {pass, Message} ->
            io:format(Device, "node ~b hop ~b~n", [Name, Hop + 1]),
            Next ! {pass, Message}
    end,
    loud(Name, Rounds, Hop + 1, Next, Device).

%% Puts the one token in and counts it each time it comes round.
start(Rounds, Rounds, _) -> Rounds;
start(Rounds, Hop, First) ->
    First ! {pass, token},
    receive
        {pass, token} -> start(Rounds, Hop + 1, First)
    end.

source(0, _) -> ok;
source(Rounds, First) ->
    First ! {pass, message},
    source(Rounds - 1, First).

sink(0) -> ok;
sink(Rounds) ->
    receive
        {pass, message} -> sink(Rounds - 1)
    end.

collect(0, Hops) -> Hops;
collect(Members, Hops) ->
    receive
        {hops, More} -> collect(Members - 1, Hops + More)
    end.
