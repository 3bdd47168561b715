package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"
)

const (
	// volumeSyncPeriod is how soon a changed ConfigMap or Secret is seen in a pod. A real kubelet may take two minutes.
	volumeSyncPeriod = 5 * time.Second
	// tokenLeft: a token is replaced when a fifth of its life is left, as in a kubelet.
	tokenLeft = 5
)

// file is one of a volume.
type file struct {
	data []byte
	mode os.FileMode
}

type token struct {
	text      string
	replaceAt time.Time
}

// mounts says where the container's volumes are on this machine.
func (c *container) mounts() mounts {
	found := mounts{}
	for _, mount := range c.spec.VolumeMounts {
		found[mount.MountPath] = filepath.Join(c.pod.volumeDir(mount.Name), mount.SubPath)
	}
	return found
}

func (p *pod) volumeDir(name string) string {
	return filepath.Join(p.dir(), "volumes", name)
}

// syncVolumes makes the files of all volumes what they shall be now.
func (p *pod) syncVolumes(ctx context.Context) error {
	for index := range p.object.Spec.Volumes {
		volume := &p.object.Spec.Volumes[index]
		dir := p.volumeDir(volume.Name)
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
		if volume.EmptyDir != nil {
			if err := p.makeSubPaths(volume.Name); err != nil {
				return err
			}
			continue
		}
		files, err := p.filesOf(ctx, volume)
		if err != nil {
			return fmt.Errorf("volume %q: %w", volume.Name, err)
		}
		if err := writeFiles(dir, files); err != nil {
			return err
		}
	}
	return nil
}

// makeSubPaths makes the folders of an empty volume that containers mount.
func (p *pod) makeSubPaths(volume string) error {
	for _, container := range slices.Concat(p.object.Spec.InitContainers, p.object.Spec.Containers) {
		for _, mount := range container.VolumeMounts {
			if mount.Name != volume {
				continue
			}
			if err := os.MkdirAll(filepath.Join(p.volumeDir(volume), mount.SubPath), 0o755); err != nil {
				return err
			}
		}
	}
	return nil
}

// keepVolumes follows what changes in the cluster until the context ends; what fails is tried again the next time.
func (p *pod) keepVolumes(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(volumeSyncPeriod):
		}
		call, cancel := context.WithTimeout(ctx, apiTimeout)
		if err := p.syncVolumes(call); err != nil && ctx.Err() == nil {
			klog.ErrorS(err, "A pod's volumes are not up to date", "pod", klog.KObj(p.object))
		}
		cancel()
	}
}

func (p *pod) filesOf(ctx context.Context, volume *v1.Volume) (map[string]file, error) {
	files := map[string]file{}
	switch {
	case volume.ConfigMap != nil:
		source := volume.ConfigMap
		data, err := p.configMap(ctx, source.Name, source.Optional)
		return files, add(files, data, source.Items, modeOf(source.DefaultMode), source.Optional, err)
	case volume.Secret != nil:
		source := volume.Secret
		data, err := p.secret(ctx, source.SecretName, source.Optional)
		return files, add(files, data, source.Items, modeOf(source.DefaultMode), source.Optional, err)
	case volume.DownwardAPI != nil:
		return files, p.addDownward(files, volume.DownwardAPI.Items, modeOf(volume.DownwardAPI.DefaultMode))
	case volume.Projected != nil:
		for _, source := range volume.Projected.Sources {
			if err := p.addProjected(ctx, files, source, modeOf(volume.Projected.DefaultMode)); err != nil {
				return nil, err
			}
		}
		return files, nil
	default:
		return nil, fmt.Errorf("the test kubelet does not know this kind of volume")
	}
}

func (p *pod) addProjected(ctx context.Context, files map[string]file, source v1.VolumeProjection, mode os.FileMode) error {
	switch {
	case source.ConfigMap != nil:
		data, err := p.configMap(ctx, source.ConfigMap.Name, source.ConfigMap.Optional)
		return add(files, data, source.ConfigMap.Items, mode, source.ConfigMap.Optional, err)
	case source.Secret != nil:
		data, err := p.secret(ctx, source.Secret.Name, source.Secret.Optional)
		return add(files, data, source.Secret.Items, mode, source.Secret.Optional, err)
	case source.DownwardAPI != nil:
		return p.addDownward(files, source.DownwardAPI.Items, mode)
	case source.ServiceAccountToken != nil:
		text, err := p.tokenFor(ctx, source.ServiceAccountToken)
		files[source.ServiceAccountToken.Path] = file{[]byte(text), 0o600}
		return err
	default:
		return fmt.Errorf("the test kubelet does not know this projection")
	}
}

func add(files map[string]file, data map[string][]byte, items []v1.KeyToPath, mode os.FileMode, optional *bool, err error) error {
	if err != nil {
		return err
	}
	for key, value := range data {
		if len(items) == 0 {
			files[key] = file{value, mode}
		}
	}
	for _, item := range items {
		value, present := data[item.Key]
		if !present && (optional == nil || !*optional) {
			return fmt.Errorf("there is no key %q", item.Key)
		}
		itemMode := mode
		if item.Mode != nil {
			itemMode = os.FileMode(*item.Mode)
		}
		if present {
			files[item.Path] = file{value, itemMode}
		}
	}
	return nil
}

func (p *pod) addDownward(files map[string]file, items []v1.DownwardAPIVolumeFile, mode os.FileMode) error {
	for _, item := range items {
		var value string
		var err error
		if item.FieldRef != nil {
			value, err = p.field(item.FieldRef.FieldPath)
		} else {
			value, err = p.resource(item.ResourceFieldRef, &p.object.Spec.Containers[0])
		}
		if err != nil {
			return err
		}
		files[item.Path] = file{[]byte(value), mode}
	}
	return nil
}

// tokenFor is the pod's token for an audience, bound to the pod, replaced in time.
func (p *pod) tokenFor(ctx context.Context, wanted *v1.ServiceAccountTokenProjection) (string, error) {
	if had, known := p.tokens[wanted.Path]; known && time.Now().Before(had.replaceAt) {
		return had.text, nil
	}
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{
		ExpirationSeconds: wanted.ExpirationSeconds,
		BoundObjectRef: &authenticationv1.BoundObjectReference{
			APIVersion: "v1", Kind: "Pod", Name: p.object.Name, UID: p.object.UID,
		},
	}}
	if wanted.Audience != "" {
		request.Spec.Audiences = []string{wanted.Audience}
	}
	accounts := p.kubelet.client.CoreV1().ServiceAccounts(p.object.Namespace)
	answer, err := accounts.CreateToken(ctx, p.object.Spec.ServiceAccountName, request, metav1.CreateOptions{})
	if err != nil {
		return "", err
	}
	left := time.Until(answer.Status.ExpirationTimestamp.Time)
	p.tokens[wanted.Path] = token{answer.Status.Token, time.Now().Add(left - left/tokenLeft)}
	return answer.Status.Token, nil
}

func modeOf(mode *int32) os.FileMode {
	if mode == nil {
		return 0o644
	}
	return os.FileMode(*mode)
}

// writeFiles makes the folder hold these files and no others. Each is replaced in one step; one that did not change is
// left alone.
func writeFiles(dir string, files map[string]file) error {
	for path, file := range files {
		target := filepath.Join(dir, path)
		if had, err := os.ReadFile(target); err == nil && bytes.Equal(had, file.data) {
			continue
		}
		if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
			return err
		}
		next := target + ".next"
		if err := os.WriteFile(next, file.data, file.mode); err != nil {
			return err
		}
		if err := os.Rename(next, target); err != nil {
			return err
		}
	}
	return filepath.WalkDir(dir, func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		relative, err := filepath.Rel(dir, path)
		if _, wanted := files[relative]; err != nil || wanted {
			return err
		}
		return os.Remove(path)
	})
}
