// Command zitadel-oidc serves the example provider of github.com/zitadel/oidc on 127.0.0.1: its own OpenID Connect, pages and
// storage, with the users of a file. Upstream's own main listens on every address.
package main

import (
	"flag"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strings"

	"github.com/zitadel/oidc/v3/example/server/exampleop"
	"github.com/zitadel/oidc/v3/example/server/storage"
)

// version is set by the build.
var version = "unknown"

func main() {
	var port, usersFile, client, redirects string
	flag.StringVar(&port, "port", "9998", "port to listen on")
	flag.StringVar(&usersFile, "users", "", "JSON file of users by their id, as upstream's storage reads it")
	flag.StringVar(&client, "client", "native", "id of the public client")
	flag.StringVar(&redirects, "redirects", "", "redirect URIs of the client, with commas between them")
	showVersion := flag.Bool("version", false, "print the version")
	flag.Parse()
	if *showVersion {
		fmt.Println("zitadel-oidc " + version)
		return
	}
	if err := serve(port, usersFile, client, strings.Split(redirects, ",")); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func serve(port, usersFile, client string, redirects []string) error {
	users, err := storage.StoreFromFile(usersFile)
	if err != nil {
		return err
	}
	storage.RegisterClients(storage.NativeClient(client, redirects...))
	address := net.JoinHostPort("127.0.0.1", port)
	logger := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelInfo}))
	issuer := "http://" + address + "/"
	router := exampleop.SetupServer(issuer, storage.NewStorage(users), logger, false)
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	return http.Serve(listener, router)
}
