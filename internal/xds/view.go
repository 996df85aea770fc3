package xds

import (
	"context"
	"maps"
	"sync"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	"github.com/tidelock/tidelock/internal/desired"
)

// view is the open watches and their mirrors. It belongs to the goroutine of Watcher.Run.
type view struct {
	w          *Watcher
	running    sync.WaitGroup
	namespaces map[string]*namespaceWatch
	secrets    map[desired.Key]*secretWatch
}

type namespaceWatch struct {
	services *mirror[service]
	slices   *mirror[slice]
	stop     context.CancelFunc
}

type secretWatch struct {
	*mirror[Secret]
	stop context.CancelFunc
}

func newView(w *Watcher) *view {
	return &view{w: w, namespaces: map[string]*namespaceWatch{}, secrets: map[desired.Key]*secretWatch{}}
}

// follow opens the watches that are wanted and closes the others; it reports whether there was anything to do.
func (v *view) follow(ctx context.Context, want wanted) bool {
	namespaces, secrets := map[string]bool{}, map[desired.Key]bool{}
	for _, p := range want.services {
		namespaces[p.Namespace] = true
	}
	for _, k := range want.secrets {
		secrets[k] = true
	}
	changed := false
	for ns, watch := range v.namespaces {
		if !namespaces[ns] {
			watch.stop()
			delete(v.namespaces, ns)
			changed = true
		}
	}
	for k, watch := range v.secrets {
		if !secrets[k] {
			watch.stop()
			delete(v.secrets, k)
			changed = true
		}
	}
	for ns := range namespaces {
		if v.namespaces[ns] == nil {
			v.namespaces[ns] = v.watchNamespace(ctx, ns)
			changed = true
		}
	}
	for k := range secrets {
		if v.secrets[k] == nil {
			v.secrets[k] = v.watchSecret(ctx, k)
			changed = true
		}
	}
	return changed
}

func (v *view) watchNamespace(ctx context.Context, ns string) *namespaceWatch {
	touched := func(name string) { v.w.touch(desired.Key{Namespace: ns, Name: name}) }
	ctx, stop := context.WithCancel(ctx)
	n := &namespaceWatch{services: newMirror(readService, touched), slices: newMirror(readSlice, touched), stop: stop}
	v.watch(ctx, v.w.core, "services", ns, fields.Everything(), &corev1.Service{}, n.services)
	v.watch(ctx, v.w.discovery, "endpointslices", ns, fields.Everything(), &discoveryv1.EndpointSlice{}, n.slices)
	return n
}

// watchSecret watches one Secret by name, so that the right to read it is all that is needed and no other is ever held.
func (v *view) watchSecret(ctx context.Context, k desired.Key) *secretWatch {
	touched := func(string) { v.w.touch(k) }
	ctx, stop := context.WithCancel(ctx)
	s := &secretWatch{mirror: newMirror(readSecret, touched), stop: stop}
	v.watch(ctx, v.w.core, "secrets", k.Namespace, fields.OneTermEqualSelector("metadata.name", k.Name), &corev1.Secret{}, s)
	return s
}

// watch keeps a mirror up to date until ctx ends. Trouble is logged and tried again, slower each time.
func (v *view) watch(
	ctx context.Context, client rest.Interface, resource, ns string, which fields.Selector, kind any, into cache.ReflectorStore,
) {
	log := logr.FromSlogHandler(v.w.log.Handler())
	r := cache.NewReflectorWithOptions(cache.NewListWatchFromClient(client, resource, ns, which), kind, into,
		cache.ReflectorOptions{Name: resource + " of " + ns, Logger: &log})
	v.running.Go(func() { r.RunWithContext(klog.NewContext(ctx, log)) })
}

// stop closes all watches and returns when they have ended.
func (v *view) stop() {
	for _, n := range v.namespaces {
		n.stop()
	}
	for _, s := range v.secrets {
		s.stop()
	}
	v.running.Wait()
}

// world returns old with what was seen to change looked up anew.
func (v *view) world(old World, want wanted, seen touched) World {
	next := World{
		Generation: old.Generation,
		Synced:     v.synced(),
		Services:   make(map[ServicePort]EndpointSet, len(want.services)),
		Secrets:    make(map[desired.Key]Secret, len(want.secrets)),
	}
	fresh := func(k desired.Key) bool { return seen.all || seen.keys[k] }
	for _, p := range want.services {
		set, found := old.Services[p]
		if fresh(p.Key) || !found {
			set, found = v.endpoints(p)
		}
		if found {
			next.Services[p] = set
		}
	}
	for _, k := range want.secrets {
		s, found := old.Secrets[k]
		if fresh(k) || !found {
			s, found = v.secret(k)
		}
		if found {
			next.Secrets[k] = s
		}
	}
	return next
}

func (v *view) endpoints(p ServicePort) (EndpointSet, bool) {
	n := v.namespaces[p.Namespace]
	it, found := n.services.of(p.Name)[p.Name]
	if !found {
		return EndpointSet{}, false
	}
	return it.value.endpoints(p.Port, n.slices.of(p.Name))
}

func (v *view) secret(k desired.Key) (Secret, bool) {
	it, found := v.secrets[k].of(k.Name)[k.Name]
	return it.value, found
}

// synced reports whether every watch has had its first list.
func (v *view) synced() bool {
	for _, n := range v.namespaces {
		if !n.services.isSynced() || !n.slices.isSynced() {
			return false
		}
	}
	for _, s := range v.secrets {
		if !s.isSynced() {
			return false
		}
	}
	return true
}

// same reports whether two Worlds say the same.
func (w World) same(o World) bool {
	return w.Synced == o.Synced &&
		maps.EqualFunc(w.Services, o.Services, sameEndpoints) && maps.EqualFunc(w.Secrets, o.Secrets, sameSecret)
}
