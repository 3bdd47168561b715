// Command apiproxy is one hop of an HTTP reverse proxy: Go's own, with mutual TLS on both sides and HTTP/2 where the peer has it.
//
//	apiproxy -listen HOST:PORT -accept DIR -dial DIR URL
//
// The folders hold ca.crt, and server.{crt,key} or client.{crt,key}. It prints one line of JSON, {"address"}, when it listens, and ends
// when its standard input does.
package main

import (
	"crypto/tls"
	"encoding/json"
	"flag"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"

	"fairlead.dev/bench/endwithparent"
	"fairlead.dev/bench/identity"
)

// What the kube-apiserver and the Kubernetes API door allow too: HTTP/2 streams of one connection.
const maxStreams = 250

func main() {
	log.SetFlags(0)
	log.SetPrefix("apiproxy: ")
	listen := flag.String("listen", "127.0.0.1:0", "where to listen")
	accept := flag.String("accept", "", "folder of certificates")
	dial := flag.String("dial", "", "folder of certificates")
	flag.Parse()
	if flag.NArg() != 1 || *accept == "" || *dial == "" {
		log.Fatal("usage: apiproxy [-listen HOST:PORT] -accept DIR -dial DIR URL")
	}
	endwithparent.Watch()
	server, err := newServer(flag.Arg(0), *accept, *dial)
	if err != nil {
		log.Fatal(err)
	}
	listener, err := net.Listen("tcp", *listen)
	if err != nil {
		log.Fatal(err)
	}
	if err := json.NewEncoder(os.Stdout).Encode(map[string]string{"address": listener.Addr().String()}); err != nil {
		log.Fatal(err)
	}
	log.Fatal(server.ServeTLS(listener, "", ""))
}

func newServer(upstream, accept, dial string) (*http.Server, error) {
	next, err := url.Parse(upstream)
	if err != nil {
		return nil, err
	}
	own, clients, err := identity.Load(accept, "server")
	if err != nil {
		return nil, err
	}
	shown, roots, err := identity.Load(dial, "client")
	if err != nil {
		return nil, err
	}
	proxy := httputil.NewSingleHostReverseProxy(next)
	proxy.FlushInterval = -1
	proxy.Transport = &http.Transport{
		TLSClientConfig: &tls.Config{
			Certificates: []tls.Certificate{shown}, RootCAs: roots, MinVersion: tls.VersionTLS12,
		},
		ForceAttemptHTTP2:   true,
		DisableCompression:  true,
		MaxIdleConnsPerHost: maxStreams,
	}
	return &http.Server{
		Handler: proxy,
		HTTP2:   &http.HTTP2Config{MaxConcurrentStreams: maxStreams},
		TLSConfig: &tls.Config{
			Certificates: []tls.Certificate{own},
			ClientCAs:    clients,
			ClientAuth:   tls.RequireAndVerifyClientCert,
			MinVersion:   tls.VersionTLS13,
		},
	}, nil
}
