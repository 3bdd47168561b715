package main

import (
	"context"
	"flag"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

// turn is the beginning or the end of a time as leader, in milliseconds of this machine's clock.
type turn struct {
	Identity string `json:"identity"`
	Leads    bool   `json:"leads"`
	AtMs     int64  `json:"atMs"`
}

// runCandidate takes part in an election again and again until its input ends, and tells each of its times as leader.
func runCandidate(args []string) error {
	var kubeconfig, contextName, identity, lease string
	var leaseFor, renewFor, retry time.Duration
	flags := flag.NewFlagSet("candidate", flag.ContinueOnError)
	flags.StringVar(&kubeconfig, "kubeconfig", "", "how to reach the API server")
	flags.StringVar(&contextName, "context", "", "its context")
	flags.StringVar(&identity, "identity", "", "who this is")
	flags.StringVar(&lease, "lease", "trial", "name of the Lease, in the namespace default")
	flags.DurationVar(&leaseFor, "lease-duration", 6*time.Second, "how long others wait for a leader that is silent")
	flags.DurationVar(&renewFor, "renew-deadline", 4*time.Second, "when a leader that cannot renew gives up")
	flags.DurationVar(&retry, "retry-period", 500*time.Millisecond, "between tries")
	if err := flags.Parse(args); err != nil {
		return err
	}
	client, err := clientOf(kubeconfig, contextName)
	if err != nil {
		return err
	}
	ctx, cancel := untilInputEnds()
	defer cancel()
	tell := func(leads bool) { say(turn{Identity: identity, Leads: leads, AtMs: time.Now().UnixMilli()}) }
	elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock: &resourcelock.LeaseLock{
			LeaseMeta:  metav1.ObjectMeta{Name: lease, Namespace: metav1.NamespaceDefault},
			Client:     client.CoordinationV1(),
			LockConfig: resourcelock.ResourceLockConfig{Identity: identity},
		},
		LeaseDuration:   leaseFor,
		RenewDeadline:   renewFor,
		RetryPeriod:     retry,
		ReleaseOnCancel: true,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(context.Context) { tell(true) },
			// Also called for who never led.
			OnStoppedLeading: func() { tell(false) },
		},
	})
	if err != nil {
		return err
	}
	say(map[string]string{"candidate": identity})
	for ctx.Err() == nil {
		elector.Run(ctx)
	}
	return nil
}
