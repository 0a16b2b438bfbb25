// Goroutines blocked in a receive: resident bytes each, and the time to create and to end them.
//
//	memory COUNT ROUNDS
//
// Prints one line of JSON with the figures of each round, all in this one process. Bytes count from
// the start of the first round.
package main

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

func resident() int {
	statm, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		panic(err)
	}
	pages, err := strconv.Atoi(strings.Fields(string(statm))[1])
	if err != nil {
		panic(err)
	}
	return pages * os.Getpagesize()
}

func await(counter *atomic.Int64, count int) {
	for counter.Load() < int64(count) {
		runtime.Gosched()
	}
}

func round(count, base int) string {
	var waiting, ended atomic.Int64
	channel := make(chan int)
	runtime.GC()
	started := time.Now()
	for at := 0; at < count; at++ {
		go func() {
			waiting.Add(1)
			<-channel
			ended.Add(1)
		}()
	}
	await(&waiting, count)
	create := time.Since(started)
	size := resident() - base
	woken := time.Now()
	for at := 0; at < count; at++ {
		channel <- 0
	}
	await(&ended, count)
	finish := time.Since(woken)
	each := float64(count)
	return fmt.Sprintf("{\"bytes\": %f, \"create\": %f, \"finish\": %f}", float64(size)/each,
		float64(create.Nanoseconds())/each, float64(finish.Nanoseconds())/each)
}

func number(at int) int {
	value, err := strconv.Atoi(os.Args[at])
	if err != nil {
		panic(err)
	}
	return value
}

func main() {
	var rounds []string
	base := resident()
	for at := 0; at < number(2); at++ {
		rounds = append(rounds, round(number(1), base))
	}
	fmt.Printf("{\"rounds\": [%s]}\n", strings.Join(rounds, ", "))
}
