package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
)

// catchUpFor: what was written last has to arrive everywhere within it.
const catchUpFor = time.Minute

// verdict is what one informer saw of what happened.
type verdict struct {
	Context string `json:"context"`
	// Events are what happened, by the kube-apiserver's own word; Told of them came as events, Skipped were replaced by a list.
	Events  int `json:"events"`
	Told    int `json:"told"`
	Skipped int `json:"skipped"`
	Missed  int `json:"missed"`
	Twice   int `json:"twice"`
	// Lists and Watches are requests; the errors are those of them that came to nothing.
	Lists       int64 `json:"lists"`
	Watches     int64 `json:"watches"`
	ListErrors  int64 `json:"listErrors"`
	WatchErrors int64 `json:"watchErrors"`
	// SameAtEnd: what the informer holds at the end is what there is.
	SameAtEnd bool `json:"sameAtEnd"`
}

type watched struct {
	context  string
	source   *counted
	seen     *seen
	informer cache.SharedIndexInformer
}

// runInformers runs an informer by each context, and a writer and a record of what it does past them, until its input ends.
func runInformers(args []string) error {
	var kubeconfig, direct, contexts, namespace string
	var perSecond int
	flags := flag.NewFlagSet("informer", flag.ContinueOnError)
	flags.StringVar(&kubeconfig, "kubeconfig", "", "how the informers reach the API server")
	flags.StringVar(&contexts, "contexts", "", "its contexts, with commas between them: an informer for each")
	flags.StringVar(&direct, "direct", "", "kubeconfig of the writer and of the record, which leads to the kube-apiserver itself")
	flags.StringVar(&namespace, "namespace", "", "whose ConfigMaps; made by this")
	flags.IntVar(&perSecond, "writes-per-second", 20, "how fast is written")
	if err := flags.Parse(args); err != nil {
		return err
	}
	directly, err := clientOf(direct, "")
	if err != nil {
		return err
	}
	ctx, cancel := untilInputEnds()
	defer cancel()
	// What goes on until all is told, longer than what is written.
	watching, stopWatching := context.WithCancel(context.Background())
	defer stopWatching()
	named := &v1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}
	if _, err := directly.CoreV1().Namespaces().Create(ctx, named, metav1.CreateOptions{}); err != nil {
		return err
	}
	all, err := startInformers(watching, kubeconfig, strings.Split(contexts, ","), namespace)
	if err != nil {
		return err
	}
	kept, err := keepRecord(watching, directly, namespace)
	if err != nil {
		return err
	}
	say(map[string]int{"informers": len(all)})
	writes, err := write(ctx, directly, namespace, perSecond)
	if err != nil {
		return err
	}
	if err := kept.has(writes); err != nil {
		return err
	}
	return judge(all, kept, directly, namespace)
}

// startInformers resolves when each has its first list.
func startInformers(ctx context.Context, kubeconfig string, contexts []string, namespace string) ([]*watched, error) {
	var all []*watched
	for _, name := range contexts {
		client, err := clientOf(kubeconfig, name)
		if err != nil {
			return nil, err
		}
		told := newSeen()
		source := &counted{configMaps: configMaps{client, namespace}, seen: told}
		informer := cache.NewSharedIndexInformer(source, &v1.ConfigMap{}, 0, cache.Indexers{})
		if _, err := informer.AddEventHandler(told.handlers()); err != nil {
			return nil, err
		}
		go informer.RunWithContext(ctx)
		all = append(all, &watched{name, source, told, informer})
	}
	for _, each := range all {
		synced, cancel := context.WithTimeout(ctx, catchUpFor)
		ok := cache.WaitForCacheSync(synced.Done(), each.informer.HasSynced)
		cancel()
		if !ok {
			return nil, fmt.Errorf("no list came by %s", each.context)
		}
	}
	return all, nil
}

// has waits until the record holds that many events: each write is one.
func (r *record) has(writes int) error {
	deadline := time.Now().Add(catchUpFor)
	for {
		count, _ := r.events()
		if count == writes {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("%d writes, but the kube-apiserver tells of %d", writes, count)
		}
		time.Sleep(100 * time.Millisecond)
	}
}

func judge(all []*watched, kept *record, directly kubernetes.Interface, namespace string) error {
	there, err := directly.CoreV1().ConfigMaps(namespace).List(context.Background(), metav1.ListOptions{})
	if err != nil {
		return err
	}
	happened := kept.all()
	if len(happened) == 0 {
		return errors.New("nothing was written")
	}
	for _, each := range all {
		each.catchUp(there)
		told, skipped, missed, twice := each.seen.compared(happened)
		say(verdict{
			Context: each.context, Events: len(happened), Told: told, Skipped: skipped, Missed: missed, Twice: twice,
			Lists: each.source.lists.Load(), Watches: each.source.watches.Load(),
			ListErrors: each.source.listErrors.Load(), WatchErrors: each.source.watchErrors.Load(),
			SameAtEnd: each.holds(there),
		})
	}
	return nil
}

// catchUp waits until the informer holds what there is, or gives up: then the verdict says so.
func (w *watched) catchUp(there *v1.ConfigMapList) {
	for deadline := time.Now().Add(catchUpFor); !w.holds(there) && time.Now().Before(deadline); {
		time.Sleep(100 * time.Millisecond)
	}
}

func (w *watched) holds(there *v1.ConfigMapList) bool {
	if len(w.informer.GetStore().ListKeys()) != len(there.Items) {
		return false
	}
	for index := range there.Items {
		object, found, err := w.informer.GetStore().Get(&there.Items[index])
		if err != nil || !found || object.(*v1.ConfigMap).ResourceVersion != there.Items[index].ResourceVersion {
			return false
		}
	}
	return true
}
