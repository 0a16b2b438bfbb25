// The load client of the experiment on networking, and the peer: goroutines with blocking calls.
//
//	net KIND COUNT SIZE SECONDS                the peer
//	net client KIND COUNT SIZE SECONDS PORT    the client of every server
//
// KIND is echo, connect, parked, timeout or timers.
//
// The peer starts the client by itself. Server and client have a core each, where there are two.
//
// The echo client is one loop over epoll without goroutines, so that it costs as little as can be:
// each connection sends a message, reads as much, and sends again. Answers count once each
// connection has had one.
package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unsafe"
)

const hour, patience = time.Hour, 10 * time.Second

func check(err error) {
	if err != nil {
		panic(err)
	}
}

func number(text string) int {
	value, err := strconv.Atoi(text)
	check(err)
	return value
}

// ---- cores ----

type cores [16]uint64

func affinity(call uintptr, mask *cores) {
	_, _, code := syscall.RawSyscall(call, 0, unsafe.Sizeof(*mask), uintptr(unsafe.Pointer(mask)))
	if code != 0 {
		panic(code)
	}
}

// core is the mask of the n-th core that we may use; all of them if there is only one.
func core(n int) cores {
	var all, one cores
	affinity(syscall.SYS_SCHED_GETAFFINITY, &all)
	for at := 0; at < len(all)*64; at++ {
		if all[at/64]>>(at%64)&1 == 1 {
			if n == 0 {
				one[at/64] |= 1 << (at % 64)
				return one
			}
			n--
		}
	}
	return all
}

// startClient runs us again as the client, on the second core; all our threads go to the first.
func startClient(arguments []string, port int) (*exec.Cmd, io.Reader) {
	runtime.LockOSThread()
	first, second := core(0), core(1)
	affinity(syscall.SYS_SCHED_SETAFFINITY, &second)
	words := append([]string{"client"}, append(arguments, strconv.Itoa(port))...)
	client := exec.Command(os.Args[0], words...)
	client.Stderr = os.Stderr
	out, err := client.StdoutPipe()
	check(err)
	check(client.Start())
	threads, err := os.ReadDir("/proc/self/task")
	check(err)
	for _, thread := range threads {
		id := uintptr(number(thread.Name()))
		syscall.RawSyscall(syscall.SYS_SCHED_SETAFFINITY, id, unsafe.Sizeof(first),
			uintptr(unsafe.Pointer(&first)))
	}
	return client, out
}

// ---- the peer ----

func resident() int {
	statm, err := os.ReadFile("/proc/self/statm")
	check(err)
	return number(strings.Fields(string(statm))[1]) * os.Getpagesize()
}

func answer(stream net.Conn, buffer []byte) {
	defer stream.Close()
	for {
		got, err := stream.Read(buffer)
		if err != nil {
			return
		}
		if _, err = stream.Write(buffer[:got]); err != nil {
			return
		}
	}
}

func serve(listener net.Listener, size int) {
	for {
		stream, err := listener.Accept()
		check(err)
		go answer(stream, make([]byte, size))
	}
}

func server(arguments []string) {
	kind, count, size := arguments[0], number(arguments[1]), number(arguments[2])
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	check(err)
	go serve(listener, size)
	base := resident()
	client, out := startClient(arguments, listener.Addr().(*net.TCPAddr).Port)
	line := make([]byte, 4096)
	got, err := out.Read(line)
	check(err)
	if kind == "parked" {
		fmt.Printf("{\"parked\": %s, \"bytes\": %f}\n", strings.TrimSpace(string(line[:got])),
			float64(resident()-base)/float64(count))
	} else {
		os.Stdout.Write(line[:got])
	}
	client.Process.Kill()
}

func timeouts(count int) {
	started := time.Now()
	for at := 0; at < count; at++ {
		_, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		cancel()
	}
	each := float64(time.Since(started).Nanoseconds()) / float64(count)
	fmt.Printf("{\"count\": %d, \"each\": %f}\n", count, each)
}

func timers(count int) {
	made := make([]*time.Timer, count)
	started := time.Now()
	for at := range made {
		made[at] = time.AfterFunc(hour+time.Duration(at), func() {})
	}
	set := time.Since(started)
	stopped := 0
	started = time.Now()
	for _, timer := range made {
		if timer.Stop() {
			stopped++
		}
	}
	cancel := time.Since(started)
	fmt.Printf("{\"count\": %d, \"set\": %f, \"cancel\": %f}\n", stopped,
		float64(set.Nanoseconds())/float64(count), float64(cancel.Nanoseconds())/float64(count))
}

// ---- the client ----

type link struct {
	fd           int
	unsent, come int // of the message that goes out, of the one that comes back
	answered     bool
}

type load struct {
	message, buffer []byte
	links           []*link
	served, answers int
}

func dial(port int) int {
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	check(err)
	check(syscall.SetsockoptInt(fd, syscall.IPPROTO_TCP, syscall.TCP_NODELAY, 1))
	check(syscall.Connect(fd, &syscall.SockaddrInet4{Port: port, Addr: [4]byte{127, 0, 0, 1}}))
	return fd
}

// ask sends one message and waits for it, so that a server has accepted the connection.
func ask(fd int, message []byte) {
	_, err := syscall.Write(fd, message)
	check(err)
	back := make([]byte, len(message))
	for come := 0; come < len(back); {
		got, err := syscall.Read(fd, back[come:])
		check(err)
		if got == 0 {
			panic("the server ended")
		}
		come += got
	}
}

func newLoad(count, size, port int) *load {
	l := &load{message: bytes.Repeat([]byte("loomlet "), size/8), buffer: make([]byte, size)}
	for at := 0; at < count; at++ {
		l.links = append(l.links, &link{fd: dial(port)})
		ask(l.links[at].fd, l.message)
	}
	return l
}

// move reads or writes what there is without waiting, and without the runtime's book-keeping for
// calls that wait: how much, or nothing and EAGAIN.
func move(call uintptr, fd int, data []byte) (int, error) {
	done, _, code := syscall.RawSyscall(call, uintptr(fd), uintptr(unsafe.Pointer(&data[0])),
		uintptr(len(data)))
	if code != 0 {
		return 0, code
	}
	return int(done), nil
}

// push sends what the system takes.
func (l *load) push(k *link) {
	for k.unsent > 0 {
		sent, err := move(syscall.SYS_WRITE, k.fd, l.message[len(l.message)-k.unsent:])
		if err == syscall.EAGAIN {
			return
		}
		check(err)
		k.unsent -= sent
	}
}

// pull reads what has come; once all of it has, the next message goes out.
func (l *load) pull(k *link) {
	for {
		wanted := l.buffer[:len(l.message)-k.come]
		got, err := move(syscall.SYS_READ, k.fd, wanted)
		if err == syscall.EAGAIN {
			return
		}
		check(err)
		if got == 0 || !bytes.Equal(wanted[:got], l.message[k.come:k.come+got]) {
			panic("the server ended, or did not send back what it got")
		}
		k.come += got
		if k.come < len(l.message) {
			if got < len(wanted) {
				return
			}
			continue
		}
		k.come, k.unsent = 0, len(l.message)
		l.answers++
		if !k.answered {
			k.answered = true
			l.served++
		}
		l.push(k)
		return
	}
}

// run keeps every connection busy for that long, and until each has been served and one was served
// now, or patience is over.
func (l *load) run(poller int, length time.Duration) time.Duration {
	events := make([]syscall.EpollEvent, 1024)
	started := time.Now()
	lacks := func() bool { return l.served < len(l.links) || l.answers == 0 }
	for time.Since(started) < length || (lacks() && time.Since(started) < patience) {
		count, err := syscall.EpollWait(poller, events, 100)
		if err == syscall.EINTR {
			continue
		}
		check(err)
		for _, event := range events[:count] {
			k := l.links[event.Fd]
			l.push(k)
			l.pull(k)
		}
	}
	return time.Since(started)
}

func (l *load) echo(seconds float64) {
	poller, err := syscall.EpollCreate1(syscall.EPOLL_CLOEXEC)
	check(err)
	const edge = syscall.EPOLLIN | syscall.EPOLLOUT | 1<<31
	for at, k := range l.links {
		check(syscall.SetNonblock(k.fd, true))
		event := syscall.EpollEvent{Events: edge, Fd: int32(at)}
		check(syscall.EpollCtl(poller, syscall.EPOLL_CTL_ADD, k.fd, &event))
		k.unsent = len(l.message)
		l.push(k)
	}
	length := time.Duration(seconds * 1e9)
	l.run(poller, length/4)
	l.answers = 0
	taken := l.run(poller, length)
	report(taken, l.answers, l.served)
}

func report(taken time.Duration, requests, served int) {
	const format = "{\"seconds\": %.9f, \"requests\": %d, \"served\": %d}\n"
	fmt.Printf(format, taken.Seconds(), requests, served)
}

// park connects and asks once, so often, and keeps the connections open till it is killed.
func park(count, size, port int) {
	message := make([]byte, size)
	for at := 0; at < count; at++ {
		ask(dial(port), message)
	}
	fmt.Println(count)
	time.Sleep(hour)
}

// visit connects, asks once, and leaves, over and over but once at least, from its own addresses.
func visit(at, size, port int, until time.Time, found chan int) {
	message, count := make([]byte, size), 0
	server := &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: port}
	for ; count == 0 || time.Now().Before(until); count++ {
		from := &net.TCPAddr{IP: net.IPv4(127, 0, byte(1+at), byte(1+count%250))}
		stream, err := net.DialTCP("tcp", from, server)
		check(err)
		_, err = stream.Write(message)
		check(err)
		_, err = io.ReadFull(stream, message)
		check(err)
		stream.Close()
	}
	found <- count
}

func visits(count, size, port int, seconds float64) {
	found, sum, served := make(chan int), 0, 0
	started := time.Now()
	until := started.Add(time.Duration(seconds * 1e9))
	for at := 0; at < count; at++ {
		go visit(at, size, port, until, found)
	}
	for at := 0; at < count; at++ {
		each := <-found
		sum += each
		if each > 0 {
			served++
		}
	}
	report(time.Since(started), sum, served)
}

func client(arguments []string) {
	count, size, port := number(arguments[1]), number(arguments[2]), number(arguments[4])
	seconds, err := strconv.ParseFloat(arguments[3], 64)
	check(err)
	switch arguments[0] {
	case "echo":
		newLoad(count, size, port).echo(seconds)
	case "parked":
		park(count, size, port)
	default:
		visits(count, size, port, seconds)
	}
}

func main() {
	switch os.Args[1] {
	case "client":
		client(os.Args[2:])
	case "timeout":
		timeouts(number(os.Args[2]))
	case "timers":
		timers(number(os.Args[2]))
	default:
		server(os.Args[1:])
	}
}
