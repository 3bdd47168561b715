// Command relay is one hop of a TCP relay: it copies bytes both ways and looks at none of them.
//
//	relay [-listen HOST:PORT] [-accept-tls DIR] [-dial-tls DIR] HOST:PORT
//
// With -accept-tls it wants TLS with a client certificate from whoever dials it, with -dial-tls it speaks it to the next
// hop; the folders hold ca.crt, server.{crt,key} and client.{crt,key}. It prints one line of JSON, {"address"}, when it listens, and ends when its standard
// input does.
package main

import (
	"crypto/tls"
	"encoding/json"
	"flag"
	"io"
	"log"
	"net"
	"os"
	"sync"

	"fairlead.dev/bench/endwithparent"
	"fairlead.dev/bench/identity"
)

// stream is what both *net.TCPConn and *tls.Conn are.
type stream interface {
	net.Conn
	CloseWrite() error
}

func main() {
	log.SetFlags(0)
	log.SetPrefix("relay: ")
	listen := flag.String("listen", "127.0.0.1:0", "where to listen")
	acceptTLS := flag.String("accept-tls", "", "folder of certificates; empty for plain TCP")
	dialTLS := flag.String("dial-tls", "", "folder of certificates; empty for plain TCP")
	flag.Parse()
	if flag.NArg() != 1 {
		log.Fatal("usage: relay [-listen HOST:PORT] [-accept-tls DIR] [-dial-tls DIR] HOST:PORT")
	}
	endwithparent.Watch()
	listener, err := listenOn(*listen, *acceptTLS)
	if err != nil {
		log.Fatal(err)
	}
	dial, err := dialer(flag.Arg(0), *dialTLS)
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
		go relay(accepted.(stream), dial)
	}
}

func listenOn(address, folder string) (net.Listener, error) {
	listener, err := net.Listen("tcp", address)
	if err != nil || folder == "" {
		return listener, err
	}
	certificate, roots, err := identity.Load(folder, "server")
	if err != nil {
		return nil, err
	}
	return tls.NewListener(listener, &tls.Config{
		Certificates: []tls.Certificate{certificate},
		ClientCAs:    roots,
		ClientAuth:   tls.RequireAndVerifyClientCert,
		MinVersion:   tls.VersionTLS13,
	}), nil
}

func dialer(address, folder string) (func() (stream, error), error) {
	if folder == "" {
		return func() (stream, error) {
			dialled, err := net.Dial("tcp", address)
			if err != nil {
				return nil, err
			}
			return dialled.(stream), nil
		}, nil
	}
	certificate, roots, err := identity.Load(folder, "client")
	if err != nil {
		return nil, err
	}
	config := &tls.Config{Certificates: []tls.Certificate{certificate}, RootCAs: roots, MinVersion: tls.VersionTLS13}
	return func() (stream, error) {
		dialled, err := tls.Dial("tcp", address, config)
		if err != nil {
			return nil, err
		}
		return dialled, nil
	}, nil
}

func relay(client stream, dial func() (stream, error)) {
	defer client.Close()
	server, err := dial()
	if err != nil {
		log.Print(err)
		return
	}
	defer server.Close()
	var both sync.WaitGroup
	both.Add(2)
	go carry(&both, server, client)
	go carry(&both, client, server)
	both.Wait()
}

// carry passes on one direction and its end. On Linux io.Copy between two plain TCP connections is done by the kernel
// (splice): no relay in user space can be cheaper, which makes this the strictest of references.
func carry(both *sync.WaitGroup, to, from stream) {
	defer both.Done()
	if _, err := io.Copy(to, from); err != nil {
		_ = to.Close()
		_ = from.Close()
		return
	}
	_ = to.CloseWrite()
}
