// Command idleagents holds many of Konnectivity's agents in one process, each with a connection of its own, by its own agent
// library. `idleagents COUNT HOST:PORT DIR` (DIR holds ca.crt, client.crt and client.key) prints one line of JSON,
// {"linked"}, when all are connected, and ends when its standard input does.
package main

import (
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/keepalive"

	"sigs.k8s.io/apiserver-network-proxy/cmd/agent/app/options"
	"sigs.k8s.io/apiserver-network-proxy/pkg/agent"
	"sigs.k8s.io/apiserver-network-proxy/pkg/util"
)

const patience = 60 * time.Second

func main() {
	log.SetFlags(0)
	log.SetPrefix("idleagents: ")
	if len(os.Args) != 4 {
		log.Fatal("usage: idleagents COUNT HOST:PORT DIR")
	}
	count, err := strconv.Atoi(os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}()
	until := time.Now().Add(patience)
	for number := range count {
		if err := link(fmt.Sprintf("idle-%d", number), os.Args[2], os.Args[3], until); err != nil {
			log.Fatal(err)
		}
	}
	if err := json.NewEncoder(os.Stdout).Encode(map[string]int{"linked": count}); err != nil {
		log.Fatal(err)
	}
	select {}
}

// link starts an agent with the settings of Konnectivity's own command, and waits until it is connected.
func link(id, address, folder string, until time.Time) error {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return err
	}
	at := func(file string) string { return filepath.Join(folder, file) }
	secure, err := util.GetClientTLSConfig(at("ca.crt"), at("client.crt"), at("client.key"), host, nil)
	if err != nil {
		return err
	}
	defaults := options.NewGrpcProxyAgentOptions()
	defaults.AgentID = id
	config := defaults.ClientSetConfig(
		grpc.WithTransportCredentials(credentials.NewTLS(secure)),
		grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: defaults.KeepaliveTime, PermitWithoutStream: true}),
	)
	config.Address = address
	clients := config.NewAgentClientSet(make(chan struct{}), make(chan struct{}))
	clients.SetServerCounter(agent.NewAggregateServerCounter(nil, agent.NewResponseBasedCounter(clients), defaults.ServerCountSource))
	clients.Serve()
	for clients.HealthyClientsCount() == 0 {
		if time.Now().After(until) {
			return fmt.Errorf("%s was not connected in time", id)
		}
		time.Sleep(time.Millisecond)
	}
	return nil
}
