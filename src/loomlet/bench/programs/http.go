// Go's net/http as a peer: plain text, JSON, and a folder of files by FileServer.
//
//	http PORT FOLDER
//
// /holding waits for ever, and /held says how many do.  Each request has a goroutine, and a
// handler may block: the model is ours. GOMAXPROCS is 1.
package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"sync/atomic"
)

func plain(answer http.ResponseWriter, request *http.Request) {
	answer.Header().Set("Content-Type", "text/plain")
	fmt.Fprint(answer, "Hello, World!")
}

func object(answer http.ResponseWriter, request *http.Request) {
	answer.Header().Set("Content-Type", "application/json")
	text, err := json.Marshal(map[string]string{"message": "Hello, World!"})
	if err != nil {
		panic(err)
	}
	answer.Write(text)
}

// compute never ends; the runtime interrupts it.
func compute(answer http.ResponseWriter, request *http.Request) {
	for number := 0; ; {
		number = (number*7 + 1) % 1000003
	}
}

var held atomic.Int64

func hold(answer http.ResponseWriter, request *http.Request) {
	held.Add(1)
	select {}
}

func countHeld(answer http.ResponseWriter, request *http.Request) {
	fmt.Fprint(answer, held.Load())
}

func main() {
	http.HandleFunc("/plain", plain)
	http.HandleFunc("/json", object)
	http.HandleFunc("/computing", compute)
	http.HandleFunc("/holding", hold)
	http.HandleFunc("/held", countHeld)
	http.Handle("/", http.FileServer(http.Dir(os.Args[2])))
	panic(http.ListenAndServe("127.0.0.1:"+os.Args[1], nil))
}
