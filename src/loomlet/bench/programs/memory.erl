%% Erlang processes blocked in a receive: resident bytes each, and the time to create and end them.
%%
%%     memory:main([Count, Rounds])      (strings)
%%
%% Prints one line of JSON with the figures of each round, all in this one emulator. Bytes count
%% from the start of the first round. The processes are not linked: unlinking each one as it ends
%% takes longer the more there are.
-module(memory).
-export([main/1]).

main(Arguments) ->
    [Count, Rounds | _] = [list_to_integer(A) || A <- Arguments],
    Base = resident(),
    Lines = [round(Count, Base) || _ <- lists:seq(1, Rounds)],
    io:format("{\"rounds\": [~s]}~n", [lists:join(", ", Lines)]),
    erlang:halt(0).

resident() ->
    {ok, Status} = file:read_file("/proc/" ++ os:getpid() ++ "/status"),
    {match, [Kilobytes]} = re:run(Status, "VmRSS:\\s+(\\d+) kB", [{capture, [1], list}]),
    list_to_integer(Kilobytes) * 1024.

round(Count, Base) ->
    erlang:garbage_collect(),
    Main = self(),
    Started = erlang:monotonic_time(nanosecond),
    Waiting = [spawn(fun() -> block(Main) end) || _ <- lists:seq(1, Count)],
    await(waiting, Count),
    Create = erlang:monotonic_time(nanosecond) - Started,
    Size = resident() - Base,
    Woken = erlang:monotonic_time(nanosecond),
    [Process ! go || Process <- Waiting],
    await(ended, Count),
    Finish = erlang:monotonic_time(nanosecond) - Woken,
    io_lib:format("{\"bytes\": ~.4f, \"create\": ~.4f, \"finish\": ~.4f}",
                  [Size / Count, Create / Count, Finish / Count]).

block(Main) ->
    Main ! waiting,
    receive
        go -> Main ! ended
    end.

await(_, 0) -> ok;
await(Word, Count) ->
    receive
        Word -> await(Word, Count - 1)
    end.
