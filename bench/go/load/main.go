// Command load is the client of the benchmark. It reads one job as JSON from standard input (so that no token stands in
// an argument), does it, and prints its result as one line of JSON. It exits with 0 also when requests failed: the
// result counts them.
package main

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"net/url"
	"os"
	"time"
)

// Job says what to do. Every job is bounded by its counts and by TimeoutMs.
type Job struct {
	Kind string `json:"kind"` // download, ping or connect
	// Target is a URL that "/bytes" or "/ping" is appended to.
	Target        string `json:"target"`
	CaPem         string `json:"caPem"`
	Authorization string `json:"authorization"` // a header's value; empty for none
	Connections   int    `json:"connections"`   // at the same time
	Bytes         int64  `json:"bytes"`         // download: of all connections together
	Count         int    `json:"count"`         // ping, connect: of all connections together
	// EnoughMs ends ping and connect before Count is reached, so that a slow system does not hold up the others.
	EnoughMs  int `json:"enoughMs"`
	TimeoutMs int `json:"timeoutMs"`
}

// Result is what came of it. With Failed > 0 the figures are of what succeeded and should not be used.
type Result struct {
	Seconds float64 `json:"seconds"`
	Bytes   int64   `json:"bytes"`
	Count   int     `json:"count"`
	P50Us   float64 `json:"p50Us"`
	P99Us   float64 `json:"p99Us"`
	Failed  int     `json:"failed"`
	Of      int     `json:"of"`
	Reason  string  `json:"reason"` // of the first failure
}

func main() {
	log.SetFlags(0)
	log.SetPrefix("load: ")
	var job Job
	if err := json.NewDecoder(os.Stdin).Decode(&job); err != nil {
		log.Fatal("the job on standard input is not JSON: ", err)
	}
	client, err := newClient(job)
	if err != nil {
		log.Fatal(err)
	}
	result, err := run(job, client)
	if err != nil {
		log.Fatal(err)
	}
	if err := json.NewEncoder(os.Stdout).Encode(result); err != nil {
		log.Fatal(err)
	}
}

func run(job Job, client *client) (Result, error) {
	switch job.Kind {
	case "download":
		return download(job, client), nil
	case "ping":
		return ping(job, client), nil
	case "connect":
		return connect(job, client), nil
	default:
		return Result{}, fmt.Errorf("no such kind of job: %q", job.Kind)
	}
}

func newClient(job Job) (*client, error) {
	target, err := url.Parse(job.Target)
	if err != nil || target.Scheme != "https" || target.Port() == "" {
		return nil, errors.New("the target must be https://host:port/…")
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM([]byte(job.CaPem)) {
		return nil, errors.New("caPem holds no certificate")
	}
	if job.Connections < 1 || job.EnoughMs < 1 || job.TimeoutMs < 1 {
		return nil, errors.New("connections, enoughMs and timeoutMs must be positive")
	}
	return &client{
		target:        target,
		authorization: job.Authorization,
		deadline:      time.Now().Add(time.Duration(job.TimeoutMs) * time.Millisecond),
		// No session cache: a new connection is a full handshake for every system.
		tls: &tls.Config{RootCAs: roots, ServerName: target.Hostname(), NextProtos: []string{"http/1.1"}, MinVersion: tls.VersionTLS13},
	}, nil
}
