// Prints the events that a subscriber is told, one line of JSON each. README.md beside this folder says how to run it.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nkeys"
)

const stream = "FAIRLEAD_EVENTS"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	nc, err := connect(os.Getenv("NATS_URL"), os.Getenv("NATS_SEED_FILE"), os.Getenv("NATS_CA_FILE"))
	if err != nil {
		log.Fatal(err)
	}
	defer nc.Close()
	for ctx.Err() == nil {
		if err := follow(ctx, nc, os.Getenv("NATS_CONSUMER")); err != nil && ctx.Err() == nil {
			log.Print(err)
			// The consumer is made anew when the subscriber is told again (fairlead subscriber replay).
			time.Sleep(time.Second)
		}
	}
}

func connect(url, seedFile, caFile string) (*nats.Conn, error) {
	text, err := os.ReadFile(seedFile)
	if err != nil {
		return nil, err
	}
	pair, err := nkeys.FromSeed([]byte(strings.TrimSpace(string(text))))
	if err != nil {
		return nil, err
	}
	public, err := pair.PublicKey()
	if err != nil {
		return nil, err
	}
	options := []nats.Option{
		nats.Nkey(public, pair.Sign),
		// The only place where this key may listen.
		nats.CustomInboxPrefix("_INBOX_" + public),
		nats.MaxReconnects(-1),
	}
	if strings.HasPrefix(url, "tls:") {
		options = append(options, nats.Secure(), nats.TLSHandshakeFirst())
	}
	if caFile != "" {
		options = append(options, nats.RootCAs(caFile))
	}
	return nats.Connect(url, options...)
}

func follow(ctx context.Context, nc *nats.Conn, name string) error {
	js, err := jetstream.NewWithAPIPrefix(nc, "fairlead.streams")
	if err != nil {
		return err
	}
	consumer, err := js.Consumer(ctx, stream, name)
	if err != nil {
		return err
	}
	for ctx.Err() == nil {
		batch, err := consumer.Fetch(100, jetstream.FetchMaxWait(5*time.Second))
		if err != nil {
			return err
		}
		for message := range batch.Messages() {
			fmt.Println(string(message.Data()))
			// An event that is not acknowledged within 30 s comes again: drop repetitions by its id.
			if err := message.Ack(); err != nil {
				return err
			}
		}
		if err := batch.Error(); err != nil && !errors.Is(err, nats.ErrTimeout) {
			return err
		}
	}
	return nil
}
