package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// API is a Kubernetes API, and who asks it: with a client certificate, or a token, or neither.
type API struct {
	// URL is what the API's own paths begin behind.
	URL     string `json:"url"`
	CaPem   string `json:"caPem"`
	CertPem string `json:"certPem"`
	KeyPem  string `json:"keyPem"`
	Token   string `json:"token"`

	tls *tls.Config
}

func (api *API) prepare() error {
	if api.CaPem == "" {
		return nil
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM([]byte(api.CaPem)) {
		return errors.New("api.caPem holds no certificate")
	}
	api.tls = &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS13}
	if api.CertPem == "" {
		return nil
	}
	certificate, err := tls.X509KeyPair([]byte(api.CertPem), []byte(api.KeyPem))
	if err != nil {
		return err
	}
	api.tls.Certificates = []tls.Certificate{certificate}
	return nil
}

// client has connections of its own, as client-go makes them: HTTP/2 where there is TLS.
func (api *API) client() (*http.Client, func()) {
	transport := &http.Transport{
		TLSClientConfig:   api.tls.Clone(),
		ForceAttemptHTTP2: true,
		// Bytes as they are: a server that compresses would hide what moving them costs.
		DisableCompression: true,
	}
	return &http.Client{Transport: transport}, transport.CloseIdleConnections
}

func (api *API) request(ctx context.Context, path string) (*http.Request, error) {
	return api.requestTo(ctx, http.MethodGet, path, nil)
}

func (api *API) requestTo(ctx context.Context, method, path string, body io.Reader) (*http.Request, error) {
	asked, err := http.NewRequestWithContext(ctx, method, api.URL+path, body)
	if err == nil && api.Token != "" {
		asked.Header.Set("Authorization", "Bearer "+api.Token)
	}
	return asked, err
}

// get reads a whole answer, and returns its length.
func (api *API) get(client *http.Client, path string, deadline time.Time) (int64, error) {
	ctx, cancel := context.WithDeadline(context.Background(), deadline)
	defer cancel()
	asked, err := api.request(ctx, path)
	if err != nil {
		return 0, err
	}
	return whole(client, asked)
}

// patch changes a ConfigMap a little, and returns the length of the answer.
func (api *API) patch(client *http.Client, path string, deadline time.Time) (int64, error) {
	ctx, cancel := context.WithDeadline(context.Background(), deadline)
	defer cancel()
	change := fmt.Sprintf(`{"data":{"at":"%d"}}`, time.Now().UnixNano())
	asked, err := api.requestTo(ctx, http.MethodPatch, path, strings.NewReader(change))
	if err != nil {
		return 0, err
	}
	asked.Header.Set("Content-Type", "application/merge-patch+json")
	return whole(client, asked)
}

func whole(client *http.Client, asked *http.Request) (int64, error) {
	answer, err := client.Do(asked)
	if err != nil {
		return 0, err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return 0, statusError(answer)
	}
	return io.Copy(io.Discard, answer.Body)
}

func statusError(answer *http.Response) error {
	said, _ := io.ReadAll(io.LimitReader(answer.Body, 300))
	return fmt.Errorf("status %d: %s", answer.StatusCode, said)
}

func apiGet(job Job) Result {
	return apiAsk(job, func(client *http.Client, _ int) (int64, error) {
		return job.API.get(client, job.Path, job.deadline)
	})
}

// apiPatch changes an object of its own on each connection: job.Path and the number of the connection.
func apiPatch(job Job) Result {
	return apiAsk(job, func(client *http.Client, index int) (int64, error) {
		return job.API.patch(client, fmt.Sprintf("%s%d", job.Path, index), job.deadline)
	})
}

// apiAsk asks job.Count times (fewer if that takes long) over job.Connections warm connections, on each one request after the
// other. With job.Slices it stops before each of them until it may go on, and a slice lasts job.SliceMs.
func apiAsk(job Job, ask func(client *http.Client, index int) (int64, error)) Result {
	asking := asking{job: job, ask: ask, times: make([][]time.Duration, job.Connections)}
	clients, end := asking.warmClients()
	defer end()
	result := Result{Of: job.Count}
	for range max(1, job.Slices) {
		enough := job.enough()
		if job.Slices > 0 {
			job.phases.reached("slice")
			enough = earlier(job.deadline, time.Now().Add(milliseconds(job.SliceMs)))
		}
		started := time.Now()
		asking.until(enough, clients)
		result.Seconds += time.Since(started).Seconds()
	}
	all := flat(asking.times)
	result.Count, result.Bytes = len(all), asking.bytes.Load()
	result.P50Us, result.P99Us = percentileUs(all, 0.50), percentileUs(all, 0.99)
	return asking.failures.in(result)
}

// asking is what came of a job so far.
type asking struct {
	job          Job
	ask          func(client *http.Client, index int) (int64, error)
	failures     failures
	begun, bytes atomic.Int64
	times        [][]time.Duration
}

// warmClients has a connection for each, over which something was asked already.
func (asking *asking) warmClients() ([]*http.Client, func()) {
	clients := make([]*http.Client, asking.job.Connections)
	ends := make([]func(), asking.job.Connections)
	var warming sync.WaitGroup
	for index := range clients {
		clients[index], ends[index] = asking.job.API.client()
		warming.Add(1)
		go func() {
			defer warming.Done()
			for range warmups {
				if _, err := asking.ask(clients[index], index); err != nil {
					asking.failures.add(err)
					break
				}
			}
		}()
	}
	warming.Wait()
	return clients, func() {
		for _, end := range ends {
			end()
		}
	}
}

// until asks over all clients at the same time.
func (asking *asking) until(enough time.Time, clients []*http.Client) {
	var done sync.WaitGroup
	for index, client := range clients {
		done.Add(1)
		go func() {
			defer done.Done()
			for time.Now().Before(enough) && asking.failures.few() && asking.begun.Add(1) <= int64(asking.job.Count) {
				before := time.Now()
				length, err := asking.ask(client, index)
				if err != nil {
					asking.failures.add(err)
					continue
				}
				asking.times[index] = append(asking.times[index], time.Since(before))
				asking.bytes.Add(length)
			}
		}()
	}
	done.Wait()
}

func flat(times [][]time.Duration) []time.Duration {
	var all []time.Duration
	for _, each := range times {
		all = append(all, each...)
	}
	return all
}

// apiFirst is the time of a request on a connection that is made for it, one after the other.
func apiFirst(job Job) Result {
	result := Result{Of: job.Count}
	var failures failures
	var times []time.Duration
	enough := job.enough()
	for len(times) < job.Count && time.Now().Before(enough) && failures.few() {
		client, end := job.API.client()
		before := time.Now()
		_, err := job.API.get(client, job.Path, job.deadline)
		took := time.Since(before)
		end()
		if err != nil {
			failures.add(err)
			continue
		}
		times = append(times, took)
	}
	result.Count = len(times)
	result.P50Us, result.P99Us = percentileUs(times, 0.50), percentileUs(times, 0.99)
	return failures.in(result)
}

// apiWatch opens job.Count watches, over job.Connections clients, and keeps them open until it may go on. They have to be there still then.
func apiWatch(job Job) Result {
	result := Result{Of: job.Count}
	var failures failures
	ctx, cancel := context.WithDeadline(context.Background(), job.deadline)
	defer cancel()
	var opening sync.WaitGroup
	var ended atomic.Int64
	for index := range job.Connections {
		opening.Add(1)
		go func() {
			defer opening.Done()
			client, _ := job.API.client()
			for at := index; at < job.Count && failures.few(); at += job.Connections {
				if err := job.API.watch(ctx, client, job.Path, &ended); err != nil {
					failures.add(err)
				}
			}
		}()
	}
	opening.Wait()
	time.Sleep(milliseconds(job.SettleMs))
	job.phases.reached("held")
	for range ended.Load() {
		failures.add(errors.New("a watch ended"))
	}
	result.Count = job.Count - failures.count
	return failures.in(result)
}

// watch resolves when its answer has begun, and reads it from then on.
func (api *API) watch(ctx context.Context, client *http.Client, path string, ended *atomic.Int64) error {
	asked, err := api.request(ctx, path)
	if err != nil {
		return err
	}
	answer, err := client.Do(asked)
	if err != nil {
		return err
	}
	if answer.StatusCode != http.StatusOK {
		defer answer.Body.Close()
		return statusError(answer)
	}
	go func() {
		_, _ = io.Copy(io.Discard, answer.Body)
		ended.Add(1)
	}()
	return nil
}
