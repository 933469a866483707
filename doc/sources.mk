# Documents, the manual page and shell completions. zsh wants its file under another name than ours.
dist_man_MANS = doc/snipara-sandbox.1
dist_pkgdata_DATA = doc/receipt.schema.json

bashcompletiondir = $(datadir)/bash-completion/completions
dist_bashcompletion_DATA = scripts/completion/snipara-sandbox.bash
fishcompletiondir = $(datadir)/fish/vendor_completions.d
dist_fishcompletion_DATA = scripts/completion/snipara-sandbox.fish
zshcompletiondir = $(datadir)/zsh/site-functions

install-data-local:
	$(MKDIR_P) '$(DESTDIR)$(zshcompletiondir)'
	$(INSTALL_DATA) $(srcdir)/scripts/completion/snipara-sandbox.zsh '$(DESTDIR)$(zshcompletiondir)/_snipara-sandbox'
uninstall-local:
	rm -f '$(DESTDIR)$(zshcompletiondir)/_snipara-sandbox'

EXTRA_DIST += \
	scripts/completion/snipara-sandbox.zsh \
	doc/ARCHITECTURE.md \
	doc/CASES.md \
	doc/HOSTS.md \
	doc/SECURITY.md \
	doc/TESTING.md
