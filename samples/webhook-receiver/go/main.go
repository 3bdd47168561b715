// Receives the webhooks of a subscriber, and prints the events that are real, one line of JSON each.
// README.md beside this folder says how to run it.
package main

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"
)

const (
	maxBytes   = 128 * 1024
	tolerance  = 5 * time.Minute
	remembered = 10_000
)

// readSecrets reads one secret of each line: while a secret is being replaced, both.
func readSecrets(path string) ([][]byte, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var secrets [][]byte
	for _, line := range strings.Split(string(text), "\n") {
		encoded, isSecret := strings.CutPrefix(strings.TrimSpace(line), "whsec_")
		if !isSecret {
			continue
		}
		secret, err := base64.StdEncoding.DecodeString(encoded)
		if err != nil {
			return nil, errors.New("a secret is not base64")
		}
		secrets = append(secrets, secret)
	}
	if len(secrets) == 0 {
		return nil, errors.New("there is no secret in it")
	}
	return secrets, nil
}

type receiver struct {
	secrets [][]byte
	mutex   sync.Mutex
	// Ids of what came already: a message may come more than once. Keep them where your data is, and in the same transaction.
	seen  map[string]bool
	order []string
}

func (r *receiver) isReal(header http.Header, body []byte) bool {
	id, timestamp := header.Get("webhook-id"), header.Get("webhook-timestamp")
	// Without it, what somebody recorded could be sent again for ever.
	seconds, err := strconv.ParseInt(timestamp, 10, 64)
	if err != nil || time.Since(time.Unix(seconds, 0)).Abs() > tolerance {
		return false
	}
	for _, secret := range r.secrets {
		mac := hmac.New(sha256.New, secret)
		fmt.Fprintf(mac, "%s.%s.", id, timestamp)
		// Over the bytes that came: JSON that was parsed and written again is another text.
		mac.Write(body)
		expected := []byte("v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil)))
		for _, given := range strings.Fields(header.Get("webhook-signature")) {
			if hmac.Equal([]byte(given), expected) {
				return true
			}
		}
	}
	return false
}

// isNew tells whether no message of this id came before, and remembers it.
func (r *receiver) isNew(id string) bool {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	if r.seen[id] {
		return false
	}
	r.seen[id] = true
	r.order = append(r.order, id)
	if len(r.order) > remembered {
		delete(r.seen, r.order[0])
		r.order = r.order[1:]
	}
	return true
}

func (r *receiver) ServeHTTP(writer http.ResponseWriter, request *http.Request) {
	if request.Method != http.MethodPost {
		writer.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(writer, request.Body, maxBytes))
	if err != nil {
		writer.WriteHeader(http.StatusRequestEntityTooLarge)
		return
	}
	if !r.isReal(request.Header, body) {
		writer.WriteHeader(http.StatusUnauthorized)
		return
	}
	if r.isNew(request.Header.Get("webhook-id")) {
		var line bytes.Buffer
		if json.Compact(&line, body) == nil {
			fmt.Println(line.String())
		}
	}
	// Answered once it is kept: whatever is not answered with 2xx within 15 s comes again.
	writer.WriteHeader(http.StatusNoContent)
}

func main() {
	secrets, err := readSecrets(os.Getenv("WEBHOOK_SECRET_FILE"))
	if err != nil {
		log.Fatalf("WEBHOOK_SECRET_FILE: %v", err)
	}
	address := os.Getenv("LISTEN")
	if address == "" {
		address = "127.0.0.1:8080"
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		log.Fatal(err)
	}
	server := &http.Server{
		Handler:     &receiver{secrets: secrets, seen: map[string]bool{}},
		ReadTimeout: 15 * time.Second,
		IdleTimeout: time.Minute,
	}
	fmt.Fprintf(os.Stderr, "listening on %s\n", listener.Addr())
	if cert, key := os.Getenv("TLS_CERT_FILE"), os.Getenv("TLS_KEY_FILE"); cert != "" && key != "" {
		log.Fatal(server.ServeTLS(listener, cert, key))
	}
	log.Fatal(server.Serve(listener))
}
