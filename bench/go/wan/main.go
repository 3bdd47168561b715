//go:build linux

// Command wan makes a network namespace of its own and joins it to the one it runs in by a path with a delay: two TUN devices,
// between which it holds each packet. `wan DELAY_MS` prints one line of JSON, {"near", "far", "namespace"} (the addresses of
// the two ends, and a path for nsenter --net), and ends when its standard input does; the devices then go by themselves, and
// the namespace with the last process in it. `wan -probe` only says whether that can be done here.
package main

import (
	"encoding/json"
	"fmt"
	"log"
	"os"
	"runtime"
	"strconv"
	"syscall"
	"time"

	"fairlead.dev/bench/endwithparent"
)

const (
	near = "10.99.0.1"
	far  = "10.99.0.2"
)

// end is one end of the path.
type end struct {
	device    *os.File
	namespace string
	err       error
}

func main() {
	log.SetFlags(0)
	log.SetPrefix("wan: ")
	if len(os.Args) != 2 {
		log.Fatal("usage: wan DELAY_MS | wan -probe")
	}
	probe := os.Args[1] == "-probe"
	delayMs, err := strconv.Atoi(os.Args[1])
	if !probe && (err != nil || delayMs < 0) {
		log.Fatal("DELAY_MS is a number of milliseconds")
	}
	here, there := makeEnd(near, 0), makeEnd(far, syscall.CLONE_NEWNET)
	for _, each := range []end{here, there} {
		if each.err != nil {
			log.Fatal(each.err)
		}
	}
	if probe {
		return
	}
	endwithparent.Watch()
	delay := time.Duration(delayMs) * time.Millisecond
	go hold(here.device, there.device, delay)
	go hold(there.device, here.device, delay)
	ready := map[string]string{"near": near, "far": far, "namespace": there.namespace}
	if err := json.NewEncoder(os.Stdout).Encode(ready); err != nil {
		log.Fatal(err)
	}
	select {}
}

// makeEnd makes a device with this address in the namespace of a thread, which it keeps: a namespace is a thread's.
func makeEnd(address string, unshare int) end {
	made := make(chan end)
	go func() {
		runtime.LockOSThread()
		made <- onThisThread(address, unshare)
		select {}
	}()
	return <-made
}

func onThisThread(address string, unshare int) end {
	if unshare != 0 {
		if err := syscall.Unshare(unshare); err != nil {
			return end{err: fmt.Errorf("no network namespace can be made: %w", err)}
		}
	}
	namespace := fmt.Sprintf("/proc/%d/task/%d/ns/net", os.Getpid(), syscall.Gettid())
	device, err := openTun("bench0")
	if err == nil {
		err = bringUp("bench0", address)
	}
	if err == nil {
		err = setFlags("lo", syscall.IFF_UP|syscall.IFF_LOOPBACK|syscall.IFF_RUNNING)
	}
	return end{device: device, namespace: namespace, err: err}
}
