package directory

import (
	"slices"

	"hexarena/domain/owner"
)

// setKey stores a key and updates the indexes of keys.
func (d *Directory) setKey(k Key) {
	public := string(k.PublicKey)
	ids := slices.DeleteFunc(d.byPublic[public], func(id string) bool { return id == k.ID })
	if !k.Revoked {
		ids = append(ids, k.ID)
	}
	if len(ids) > 0 {
		d.byPublic[public] = ids
	} else {
		delete(d.byPublic, public)
	}
	if k.NoticeOwed {
		d.owedKeys[k.ID] = true
	} else {
		delete(d.owedKeys, k.ID)
	}
	d.keys[k.ID] = k
	d.changed.keys[k.ID] = true
}

// revokeKey revokes a key. The event may also name a key that was never
// registered.
func (d *Directory) revokeKey(e owner.APIKeyRevoked) {
	if k, ok := d.keys[e.KeyID]; ok {
		k.Revoked, k.NoticeOwed = true, e.By == owner.ByOtherAccount
		d.setKey(k)
	}
}

// keyNotified records that an email about a key is no longer owed.
func (d *Directory) keyNotified(id string) {
	if k, ok := d.keys[id]; ok {
		k.NoticeOwed = false
		d.setKey(k)
	}
}

// Key returns an API key, even if it is revoked.
func (d *Directory) Key(id string) (Key, bool) {
	d.mu.RLock()
	defer d.mu.RUnlock()
	k, ok := d.keys[id]
	return k, ok
}

// KeysOf returns all keys that have the given public key and are not revoked, in no
// particular order. It includes the keys of deleted accounts.
func (d *Directory) KeysOf(public []byte) []Key {
	d.mu.RLock()
	defer d.mu.RUnlock()
	var list []Key
	for _, id := range d.byPublic[string(public)] {
		list = append(list, d.keys[id])
	}
	return list
}
