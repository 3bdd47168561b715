// Command load is the client of the benchmark. The first line of its standard input is one job as JSON (so that no key stands
// in an argument); it does the job and prints its result as one line of JSON. Some jobs stop in between, print
// {"phase": …}, and go on when another line comes. It exits with 0 also when the system under test failed: the result counts
// that. When its standard input ends it ends.
package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"time"
)

// Job says what to do. Every job is bounded by its counts and by TimeoutMs.
type Job struct {
	Kind string `json:"kind"`
	Way  Way    `json:"way"`
	// API and Path are for the kinds that ask a Kubernetes API.
	API  API    `json:"api"`
	Path string `json:"path"`
	// Target and Banner are the target's two ports, as the far end of the way reaches them.
	Target      string `json:"target"`
	Banner      string `json:"banner"`
	Connections int    `json:"connections"` // at the same time
	Bytes       int64  `json:"bytes"`       // of all connections together; exact: of each
	Count       int    `json:"count"`       // of all connections together
	// Beside is what else goes on during pings.
	Beside Beside `json:"beside"`
	// EnoughMs ends what has a Count before it is reached, so that a slow system does not hold up the others.
	EnoughMs int `json:"enoughMs"`
	// Slices, of SliceMs each, with a stop before each one; 0: it is done in one go.
	Slices  int `json:"slices"`
	SliceMs int `json:"sliceMs"`
	// HoldMs is how long what is beside goes on at least, or tries after a kill.
	HoldMs int `json:"holdMs"`
	// SettleMs is how long idle connections, or what is beside, go on before anything is measured.
	SettleMs int `json:"settleMs"`
	// TryMs bounds each of many tries.
	TryMs     int `json:"tryMs"`
	TimeoutMs int `json:"timeoutMs"`

	deadline time.Time
	phases   *phases
}

// Result is what came of it. With Failed > 0 the figures are of what succeeded.
type Result struct {
	Seconds float64 `json:"seconds"`
	Bytes   int64   `json:"bytes"`
	Count   int     `json:"count"`
	P50Us   float64 `json:"p50Us"`
	P99Us   float64 `json:"p99Us"`
	// BesideMBs is what the downloads beside the pings moved, MB/s of all together.
	BesideMBs float64 `json:"besideMBs"`
	// NewOk of NewOf connections made beside it all worked.
	NewOk  int    `json:"newOk"`
	NewOf  int    `json:"newOf"`
	Failed int    `json:"failed"`
	Of     int    `json:"of"`
	Reason string `json:"reason"` // of the first failure
}

var kinds = map[string]func(Job) Result{
	"download":         func(job Job) Result { return transfer(job, downloadPart) },
	"upload":           func(job Job) Result { return transfer(job, uploadPart) },
	"ping":             ping,
	"connect":          connect,
	"first-byte":       firstByte,
	"hold":             hold,
	"recover":          recovery,
	"banner":           func(job Job) Result { return exact(job, bannerArrives) },
	"half-close":       func(job Job) Result { return exact(job, answerAfterEnd) },
	"write-then-close": func(job Job) Result { return exact(job, everythingBeforeEnd) },
	"abort-while-busy": abortWhileBusy,
	"api-get":          apiGet,
	"api-patch":        apiPatch,
	"api-first":        apiFirst,
	"api-watch":        apiWatch,
	"api-exec":         apiExec,
}

func main() {
	log.SetFlags(0)
	log.SetPrefix("load: ")
	input := bufio.NewReader(os.Stdin)
	line, err := input.ReadBytes('\n')
	if err != nil {
		log.Fatal("no job on standard input: ", err)
	}
	var job Job
	if err := json.Unmarshal(line, &job); err != nil {
		log.Fatal("the job on standard input is not JSON: ", err)
	}
	do, known := kinds[job.Kind]
	if !known {
		log.Fatalf("no such kind of job: %q", job.Kind)
	}
	if job.Connections < 1 || job.TimeoutMs < 1 {
		log.Fatal("connections and timeoutMs must be positive")
	}
	if err := errors.Join(job.Way.prepare(), job.API.prepare()); err != nil {
		log.Fatal(err)
	}
	job.deadline = time.Now().Add(milliseconds(job.TimeoutMs))
	job.phases = watch(input)
	result := do(job)
	if err := json.NewEncoder(os.Stdout).Encode(result); err != nil {
		log.Fatal(err)
	}
}

// phases stops a job until whoever started it says that it may go on.
type phases struct{ lines chan struct{} }

// watch ends the process when its input does: whoever started it is gone.
func watch(input *bufio.Reader) *phases {
	lines := make(chan struct{})
	go func() {
		for {
			if _, err := input.ReadString('\n'); err != nil {
				if err != io.EOF {
					log.Print(err)
				}
				os.Exit(0)
			}
			lines <- struct{}{}
		}
	}()
	return &phases{lines: lines}
}

func (p *phases) reached(name string) {
	fmt.Printf("{\"phase\":%q}\n", name)
	<-p.lines
}

func (job Job) enough() time.Time {
	if job.EnoughMs < 1 {
		return job.deadline
	}
	return time.Now().Add(milliseconds(job.EnoughMs))
}

func milliseconds(number int) time.Duration { return time.Duration(number) * time.Millisecond }
