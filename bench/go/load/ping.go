package main

import (
	"fmt"
	"io"
	"time"

	"fairlead.dev/bench/command"
)

const (
	warmups = 20
	// What a 99th percentile needs at least.
	minPings = 100
	// A ping that takes longer counts as none: the system is frozen.
	frozenAfter = 3 * time.Second
)

// ping sends 64 bytes job.Count times (fewer if that takes long) and waits for each to come back, on one warm connection,
// while job.Beside goes on.
func ping(job Job) Result {
	result := Result{Of: job.Count}
	var failures failures
	connection, err := echoing(job)
	if err != nil {
		failures.add(err)
		return failures.in(result)
	}
	defer connection.Close()
	beside, err := job.Beside.start(job)
	if err != nil {
		failures.add(err)
		return failures.in(result)
	}
	times, err := pings(job, connection)
	if err != nil {
		failures.add(fmt.Errorf("frozen after %d pings: %w", len(times), err))
	}
	result.Count = len(times)
	result.P50Us, result.P99Us = percentileUs(times, 0.50), percentileUs(times, 0.99)
	beside.end(job, &result)
	return failures.in(result)
}

func echoing(job Job) (*stream, error) {
	connection, err := job.Way.dial(job.Target, job.deadline)
	if err != nil {
		return nil, err
	}
	err = command.Write(connection, command.Echo, 0)
	for range warmups {
		if err == nil {
			_, err = pingOnce(connection)
		}
	}
	if err != nil {
		_ = connection.Close()
		return nil, err
	}
	return connection, nil
}

func pings(job Job, connection *stream) ([]time.Duration, error) {
	times := make([]time.Duration, 0, job.Count)
	enough := job.enough()
	for len(times) < job.Count && (len(times) < minPings || time.Now().Before(enough)) {
		if err := connection.SetDeadline(earlier(job.deadline, time.Now().Add(frozenAfter))); err != nil {
			return times, err
		}
		took, err := pingOnce(connection)
		if err != nil {
			return times, err
		}
		times = append(times, took)
	}
	return times, nil
}

func pingOnce(connection *stream) (time.Duration, error) {
	var block [command.Block]byte
	before := time.Now()
	if _, err := connection.Write(command.Pattern[:command.Block]); err != nil {
		return 0, err
	}
	if _, err := io.ReadFull(connection, block[:]); err != nil {
		return 0, err
	}
	return time.Since(before), nil
}

func earlier(one, other time.Time) time.Time {
	if one.Before(other) {
		return one
	}
	return other
}
