// Command relay is one hop of a plain TCP relay: it copies bytes both ways and looks at none of them. `relay HOST:PORT`
// prints one line of JSON, {"address"}, when it listens on a free port of 127.0.0.1, and ends when its standard input
// does.
package main

import (
	"encoding/json"
	"io"
	"log"
	"net"
	"os"
	"sync"

	"fairlead.dev/bench/endwithparent"
)

func main() {
	log.SetFlags(0)
	log.SetPrefix("relay: ")
	if len(os.Args) != 2 {
		log.Fatal("usage: relay HOST:PORT")
	}
	endwithparent.Watch()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	if err := json.NewEncoder(os.Stdout).Encode(map[string]string{"address": listener.Addr().String()}); err != nil {
		log.Fatal(err)
	}
	for {
		accepted, err := listener.Accept()
		if err != nil {
			log.Fatal(err)
		}
		go relay(accepted.(*net.TCPConn), os.Args[1])
	}
}

func relay(client *net.TCPConn, target string) {
	defer client.Close()
	dialled, err := net.Dial("tcp", target)
	if err != nil {
		log.Print(err)
		return
	}
	server := dialled.(*net.TCPConn)
	defer server.Close()
	var both sync.WaitGroup
	both.Add(2)
	go carry(&both, server, client)
	go carry(&both, client, server)
	both.Wait()
}

// carry passes on one direction and its end. On Linux io.Copy between two TCP connections is done by the kernel
// (splice): no relay in user space can be cheaper, which makes this the strictest of references.
func carry(both *sync.WaitGroup, to, from *net.TCPConn) {
	defer both.Done()
	if _, err := io.Copy(to, from); err != nil {
		_ = to.Close()
		_ = from.Close()
		return
	}
	_ = to.CloseWrite()
}
