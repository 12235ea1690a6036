package standin

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
)

// object has the attributes of a resource by name: texts, booleans, lists and maps of these.
type object map[string]any

func (o object) text(name string) string {
	text, _ := o[name].(string)
	return text
}

// cloud is an account in a region, by its folder.
type cloud struct {
	folder, account, region string
}

// global is the region of services that have none, as IAM.
const global = "global"

func (c cloud) in(region string) cloud {
	if region != "" {
		c.region = region
	}
	return c
}

func (c cloud) file(kind, id string) string {
	return filepath.Join(c.folder, c.account, c.region, kind, url.PathEscape(id)+".json")
}

// add writes an object that must not be there.
func (c cloud) add(kind, id string, o object) error {
	if c.has(kind, id) {
		return fmt.Errorf("ResourceExistsException: %s %s is there in account %s, region %s", kind, id, c.account, c.region)
	}
	return c.put(kind, id, o)
}

// put writes an object as a whole or not at all.
func (c cloud) put(kind, id string, o object) error {
	data, err := json.MarshalIndent(o, "", "  ")
	if err != nil {
		return err
	}
	file := c.file(kind, id)
	if err := os.MkdirAll(filepath.Dir(file), 0o750); err != nil {
		return err
	}
	if err := os.WriteFile(file+".new", data, 0o600); err != nil {
		return err
	}
	return os.Rename(file+".new", file)
}

// get reads an object; nil if it is not there.
func (c cloud) get(kind, id string) (object, error) {
	data, err := os.ReadFile(c.file(kind, id))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var o object
	return o, json.Unmarshal(data, &o)
}

func (c cloud) has(kind, id string) bool {
	_, err := os.Stat(c.file(kind, id))
	return err == nil
}

// must is an error if an object is not there.
func (c cloud) must(kind, id string) error {
	if !c.has(kind, id) {
		return fmt.Errorf("ResourceNotFoundException: no %s %s in account %s, region %s", kind, id, c.account, c.region)
	}
	return nil
}

// all reads the objects of a kind.
func (c cloud) all(kind string) (out []object, err error) {
	files, err := filepath.Glob(filepath.Join(c.folder, c.account, c.region, kind, "*.json"))
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		var o object
		if err := json.Unmarshal(data, &o); err != nil {
			return nil, err
		}
		out = append(out, o)
	}
	return out, err
}

func (c cloud) remove(kind, id string) error {
	err := os.Remove(c.file(kind, id))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// made is what AWS would make up, of n characters: the same for the same names.
func made(n int, names ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(names, "\n")))
	return hex.EncodeToString(sum[:])[:n]
}
