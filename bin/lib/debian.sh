# Sourced by bin/setup: unpacks Debian packages into .deps/ without root and
# without changing the system.
# shellcheck shell=bash
# shellcheck source-path=SCRIPTDIR source=env.sh disable=SC2154

debian_codename() {
  # shellcheck source=/dev/null
  (. /etc/os-release 2>/dev/null && [[ ${ID:-} == debian ]] && echo "${VERSION_CODENAME:?}")
}

# The next two print the machine's source of its Debian release, with SUITE as its
# suite.  They keep the mirror, the options and the keyring.
debian_one_line_source() { # FILE SUITE
  awk -v release="$(debian_codename)" -v suite="$2" '
    match($0, /^deb[ \t]+(\[[^]]*\][ \t]+)?[^ \t]+[ \t]+/) {
      source = substr($0, 1, RLENGTH)
      split(substr($0, RLENGTH + 1), rest)
      if (rest[1] == release && rest[2] == "main") print source suite " main"
    }' "$1"
}

debian_deb822_source() { # FILE SUITE
  awk -v release="$(debian_codename)" -v suite="$2" '
    BEGIN { RS = ""; FS = "\n" }
    {
      split("", value)
      kept = field = ""
      for (i = 1; i <= NF; i++) {
        if ($i ~ /^#/) continue
        text = $i
        if ($i ~ /^[^ \t]/) {
          field = tolower($i); sub(/:.*/, "", field)
          sub(/^[^:]*:/, "", text)
        }
        value[field] = value[field] " " text " "
        if (field !~ /^(types|suites|components|enabled)$/) kept = kept $i "\n"
      }
      if (value["types"] ~ / deb / && value["components"] ~ / main / &&
          index(value["suites"], " " release " ") && value["enabled"] !~ /no/)
        print "Types: deb\nSuites: " suite "\nComponents: main\n" kept
    }' "$1"
}

# Makes an apt configuration for SUITE only and prints its file name.  The system's
# own apt never sees packages of another release.
debian_apt() { # SUITE
  local suite=$1 home=$deps/apt/$1 list='' parts='' file
  if [[ ! -e $home/apt.conf ]]; then
    mkdir -p "$home/sources" "$home/lists/partial" "$home/cache/archives/partial"
    eval "$(apt-config shell list Dir::Etc::sourcelist/f parts Dir::Etc::sourceparts/d)"
    for file in "$list" "$parts"*; do
      if [[ ! -r $file ]]; then continue; fi
      case $file in
        *.list) debian_one_line_source "$file" "$suite" >>"$home/sources/machine.list" ;;
        *.sources) debian_deb822_source "$file" "$suite" >>"$home/sources/machine.sources" ;;
      esac
    done

    # A frozen mirror has expired indices, which are still signed.
    cat >"$home/apt.conf" <<CONF
Dir::Etc::sourcelist "/dev/null";
Dir::Etc::sourceparts "$home/sources";
Dir::Etc::preferences "/dev/null";
Dir::Etc::preferencesparts "/dev/null";
Dir::State::lists "$home/lists";
Dir::Cache "$home/cache";
Acquire::Check-Valid-Until "false";
Acquire::Languages "none";
Acquire::IndexTargets::deb::DEP-11::DefaultEnabled "false";
APT::Sandbox::User "root";
#clear APT::Update::Post-Invoke;
#clear APT::Update::Post-Invoke-Success;
CONF
    # Ignore failures: another vendor's source may have the release's name and lack
    # SUITE.  The download fails if the index is really missing.
    apt-get -qq -c "$home/apt.conf" update >&2 || true
  fi
  echo "$home/apt.conf"
}

# Unpacks packages of SUITE into a new DIRECTORY.  The package files stay in its
# debs/; the caller removes them.
debian_unpack() { # SUITE DIRECTORY PACKAGE[=VERSION]...
  local suite=$1 directory=$2 conf deb
  shift 2
  conf=$(debian_apt "$suite") || return
  rm -rf "$directory"
  mkdir -p "$directory/debs"
  (cd "$directory/debs" && apt-get -qq -c "$conf" download "$@" >&2) || return
  for deb in "$directory"/debs/*.deb; do
    dpkg -x "$deb" "$directory" || return
  done
}

# Puts Emacs VERSION of SUITE into DIRECTORY, with a script `emacs' that starts it.
# It is unpacked because Debian cannot install two versions of Emacs.
debian_emacs() { # VERSION SUITE FLAVOR(nox|lucid) DIRECTORY
  local version=$1 suite=$2 flavor=$3 directory=$4 part=$4.part packages
  if [[ ! -x $directory/emacs ]]; then
    say "fetching Emacs $version ($flavor) from $suite into ${directory#"$root"/}"
    packages=("emacs-$flavor" emacs-common emacs-bin-common)
    # Outside its usual folder, 28.2 needs the Lisp sources: its warning about a
    # missing source loads a library without source, until Emacs crashes.
    if [[ $version == 28.* ]]; then packages+=(emacs-el); fi
    packages=("${packages[@]/%/=1:$version*}")
    debian_unpack "$suite" "$part" "${packages[@]}" || return
    dpkg-deb --field "$part"/debs/emacs-"$flavor"_*.deb Depends |
      tr ',' '\n' | awk '$1 !~ /^emacs/ { print $1 }' >"$part/libraries"
    rm -r "$part/debs"
    # The binary finds its dump under this name; 28.2 rejects --dump-file.
    mv "$part"/usr/libexec/emacs/*/*/emacs*.pdmp "$part/usr/bin/emacs-$flavor.pdmp"
    cat >"$part/emacs" <<SCRIPT
#!/bin/sh
here=\$(cd "\$(dirname "\$0")" && pwd)
share=\$here/usr/share/emacs/$version
export EMACSLOADPATH="\$share/lisp" EMACSDATA="\$share/etc" EMACSDOC="\$share/etc"
export EMACSPATH="\$(echo "\$here"/usr/libexec/emacs/$version/*)"
exec "\$here/usr/bin/emacs-$flavor" "\$@"
SCRIPT
    chmod +x "$part/emacs"
    rm -rf "$directory"
    mv "$part" "$directory"
  fi
  if ! "$directory/emacs" --version >/dev/null 2>&1; then
    # shellcheck disable=SC2046
    install_packages $(<"$directory/libraries") || return
  fi
  "$directory/emacs" --version >/dev/null
}
