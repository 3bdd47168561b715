package main

import (
	"io"
	"sync"
	"sync/atomic"
	"time"

	"fairlead.dev/bench/command"
)

const readBytes = 256 << 10

// transfer moves job.Bytes over job.Connections warm connections at once, an equal part each.
func transfer(job Job, move func(*stream, int64) error) Result {
	part := job.Bytes / int64(job.Connections)
	result := Result{Of: job.Connections}
	var failures failures
	var warm, done sync.WaitGroup
	begin := make(chan struct{})
	var moved atomic.Int64
	for range job.Connections {
		warm.Add(1)
		done.Add(1)
		go func() {
			defer done.Done()
			connection, err := warmConnection(job)
			warm.Done()
			<-begin
			if err == nil {
				defer connection.Close()
				err = move(connection, part)
			}
			if err != nil {
				failures.add(err)
				return
			}
			moved.Add(part)
		}()
	}
	warm.Wait()
	started := time.Now()
	close(begin)
	done.Wait()
	result.Seconds = time.Since(started).Seconds()
	result.Bytes = moved.Load()
	return failures.in(result)
}

// warmConnection has carried a few bytes both ways.
func warmConnection(job Job) (*stream, error) {
	connection, err := job.Way.dial(job.Target, job.deadline)
	if err != nil {
		return nil, err
	}
	if err := downloadPart(connection, command.Block); err != nil {
		_ = connection.Close()
		return nil, err
	}
	return connection, nil
}

func downloadPart(connection *stream, part int64) error {
	if err := command.Write(connection, command.Download, part); err != nil {
		return err
	}
	buffer := make([]byte, min(readBytes, part))
	for left := part; left > 0; {
		read, err := connection.Read(buffer[:min(left, int64(len(buffer)))])
		if err != nil {
			return err
		}
		left -= int64(read)
	}
	return nil
}

func uploadPart(connection *stream, part int64) error {
	if err := command.Write(connection, command.Upload, part); err != nil {
		return err
	}
	for left := part; left > 0; {
		written, err := connection.Write(command.Pattern[:min(left, int64(len(command.Pattern)))])
		if err != nil {
			return err
		}
		left -= int64(written)
	}
	_, err := io.ReadFull(connection, make([]byte, 1))
	return err
}
