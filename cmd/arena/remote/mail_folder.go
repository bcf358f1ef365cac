package remote

import (
	"bytes"
	"errors"
	"fmt"
	netmail "net/mail"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// tokenOf returns the token of a sign-in link. A string that is not a URL is
// returned unchanged, as a token.
func tokenOf(link string) (string, error) {
	link = strings.TrimSpace(link)
	if !strings.Contains(link, "://") {
		return link, nil
	}
	u, err := url.Parse(link)
	if err != nil || u.Query().Get("token") == "" {
		return "", errors.New("this is not a sign-in link: it must end in ?token=…")
	}
	return u.Query().Get("token"), nil
}

// linkPattern finds the token of a sign-in link in an email.
var linkPattern = regexp.MustCompile(`/sign-in/confirm\?token=([A-Za-z0-9_%.~-]+)`)

// MailedToken returns the token from the newest sign-in email to an address. It
// reads the folder of an arena that was started with --mail file:FOLDER.
func MailedToken(folder, address string) (string, error) {
	files, err := filepath.Glob(filepath.Join(folder, "*.eml"))
	if err != nil {
		return "", err
	}
	slices.Sort(files) // names sort by time
	for _, file := range slices.Backward(files) {
		text, err := os.ReadFile(file)
		if err != nil {
			return "", err
		}
		if link := linkPattern.FindSubmatch(text); link != nil && isTo(text, address) {
			return url.QueryUnescape(string(link[1]))
		}
	}
	return "", fmt.Errorf("there is no sign-in email to %s in %s", address, folder)
}

func isTo(mail []byte, address string) bool {
	m, err := netmail.ReadMessage(bytes.NewReader(mail))
	if err != nil {
		return false
	}
	to, err := m.Header.AddressList("To")
	return err == nil && len(to) == 1 && strings.EqualFold(to[0].Address, address)
}
