// The ring and the necklace on goroutines and unbuffered channels.
//
//	ring NODES ROUNDS NECKLACE PRINTED     (the last two are 0 or 1)
//
// Prints one line of JSON: the seconds of the message phase and the hops that the members counted.
// The printed line per hop goes through a buffered writer, as Python's print does, so that the
// number of system calls is alike.
package main

import (
	"bufio"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

type ring struct {
	rounds  int
	out     *bufio.Writer
	lock    sync.Mutex
	waiting atomic.Int64
	hops    atomic.Int64
	ended   sync.WaitGroup
}

func (r *ring) node(left, right chan string) {
	r.waiting.Add(1)
	hop := 0
	for hop < r.rounds {
		right <- <-left
		hop++
	}
	r.hops.Add(int64(hop))
	r.ended.Done()
}

func (r *ring) loudNode(name int, left, right chan string) {
	r.waiting.Add(1)
	hop := 0
	for hop < r.rounds {
		message := <-left
		hop++
		r.lock.Lock()
		fmt.Fprintln(r.out, "node", name, "hop", hop)
		r.lock.Unlock()
		right <- message
	}
	r.hops.Add(int64(hop))
	r.ended.Done()
}

// strand starts the members and waits until all have come to their first receive.
func (r *ring) strand(members int) []chan string {
	links := make([]chan string, members+1)
	for at := range links {
		links[at] = make(chan string)
	}
	r.ended.Add(members)
	for name := 0; name < members; name++ {
		if r.out == nil {
			go r.node(links[name], links[name+1])
		} else {
			go r.loudNode(name, links[name], links[name+1])
		}
	}
	for r.waiting.Load() < int64(members) {
		runtime.Gosched()
	}
	return links
}

// start puts the one token in and counts it each time it comes round.
func (r *ring) start(left, right chan string) {
	hop := 0
	for hop < r.rounds {
		right <- "token"
		<-left
		hop++
	}
	r.hops.Add(int64(hop))
}

func (r *ring) thread(first, last chan string) {
	go func() {
		for sent := 0; sent < r.rounds; sent++ {
			first <- "message"
		}
	}()
	for got := 0; got < r.rounds; got++ {
		<-last
	}
}

func (r *ring) pass(nodes int, necklace bool) time.Duration {
	members := nodes
	if !necklace {
		members--
	}
	links := r.strand(members)
	started := time.Now()
	if necklace {
		r.thread(links[0], links[members])
	} else {
		r.start(links[members], links[0])
	}
	elapsed := time.Since(started)
	r.ended.Wait()
	return elapsed
}

func number(at int) int {
	value, err := strconv.Atoi(os.Args[at])
	if err != nil {
		panic(err)
	}
	return value
}

func main() {
	r := &ring{rounds: number(2)}
	if number(4) == 1 {
		null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
		if err != nil {
			panic(err)
		}
		r.out = bufio.NewWriter(null)
	}
	elapsed := r.pass(number(1), number(3) == 1)
	if r.out != nil {
		r.out.Flush()
	}
	fmt.Printf("{\"seconds\": %.9f, \"hops\": %d}\n", elapsed.Seconds(), r.hops.Load())
}
