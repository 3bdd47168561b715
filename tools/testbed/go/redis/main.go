// Command redis serves the protocol and the commands of Redis from memory, by miniredis: for tests of programs that keep
// a cache there, on machines without Redis. It takes the few options of redis-server that such a manifest has.
package main

import (
	"flag"
	"fmt"
	"net"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/alicebob/miniredis/v2"
)

// version is set by the build.
var version = "unknown"

const tick = time.Second

func main() {
	var bind, port, password, ignored string
	flag.StringVar(&bind, "bind", "127.0.0.1", "address to listen on")
	flag.StringVar(&port, "port", "6379", "port to listen on")
	flag.StringVar(&password, "requirepass", "", "what clients must say")
	flag.StringVar(&ignored, "save", "", "nothing is ever saved")
	flag.StringVar(&ignored, "appendonly", "no", "nothing is ever saved")
	showVersion := flag.Bool("version", false, "print the version")
	if err := flag.CommandLine.Parse(split(os.Args[1:])); err != nil {
		os.Exit(2)
	}
	if *showVersion {
		fmt.Println("miniredis " + version)
		return
	}
	server := miniredis.NewMiniRedis()
	if password != "" {
		server.RequireAuth(password)
	}
	if err := server.StartAddr(net.JoinHostPort(bind, port)); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	ended := make(chan os.Signal, 1)
	signal.Notify(ended, syscall.SIGTERM, syscall.SIGINT)
	clock := time.NewTicker(tick)
	for {
		select {
		case <-ended:
			server.Close()
			return
		case <-clock.C:
			// Its keys expire only when it is told that time passes.
			server.FastForward(tick)
		}
	}
}

// split takes an option and its value that came as one argument apart, as redis-server does.
func split(arguments []string) []string {
	var apart []string
	for _, argument := range arguments {
		name, value, found := strings.Cut(argument, " ")
		apart = append(apart, name)
		if found {
			apart = append(apart, value)
		}
	}
	return apart
}
