# Shared by the commands in this folder; meant to be sourced.

farro_root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
farro_cache=${FARRO_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/farro}
farro_jobs=${FARRO_JOBS:-$(nproc)}

say() { printf '[farro] %s\n' "$*" >&2; }

# fail WHAT WHAT-TO-TYPE
fail() {
  printf '[farro] error: %s\n' "$1" >&2
  [ $# -lt 2 ] || printf '[farro] to do:  %s\n' "$2" >&2
  exit 1
}

# Runs a command quietly; its output is shown only when it fails.
# quietly LOG-NAME WHAT-TO-TYPE COMMAND...
quietly() {
  local name=$1 hint=$2 log="$farro_cache/log/$1.log"
  shift 2
  mkdir -p "$farro_cache/log"
  if ! "$@" >"$log" 2>&1; then
    tail -n 30 "$log" >&2
    fail "'$name' failed; all of its output is in $log" "$hint"
  fi
}

# missing_packages PACKAGE... prints those that are not installed.
missing_packages() {
  local package
  for package in "$@"; do
    case $(dpkg-query -W -f '${db:Status-Abbrev}' "$package" 2>/dev/null) in
      ii*) ;;
      *) printf '%s\n' "$package" ;;
    esac
  done
}

# install_packages PACKAGE... installs what is missing, with the machine's own apt.
install_packages() {
  local missing
  mapfile -t missing < <(missing_packages "$@")
  [ ${#missing[@]} -gt 0 ] || return 0
  local command="apt-get update && apt-get install --no-install-recommends -y ${missing[*]}"
  if [ "$(id -u)" -ne 0 ]; then
    fail "these packages are missing: ${missing[*]}" "sudo sh -c '$command'"
  fi
  say "installing ${#missing[@]} packages: ${missing[*]}"
  quietly apt-update "look at the network and at the machine's apt sources, then: apt-get update" \
    apt-get -o DPkg::Lock::Timeout=600 update
  quietly apt-install "$command" env DEBIAN_FRONTEND=noninteractive \
    apt-get -o DPkg::Lock::Timeout=600 install --no-install-recommends -y "${missing[@]}"
}

# machine_mirror prints "URI CODENAME COMPONENTS…" of the distribution's main archive as apt has it.
machine_mirror() {
  local vendor codename uri components
  vendor=$(. /etc/os-release && echo "$ID")
  codename=$(. /etc/os-release && echo "${VERSION_CODENAME:-sid}")
  uri=$(apt-get indextargets --format '$(LABEL)|$(CREATED_BY)|$(REPO_URI)' |
    awk -F'|' -v vendor="$vendor" 'tolower($1) == vendor && $2 == "Packages" { print $3; exit }')
  [ -n "$uri" ] || return 1
  components=$(apt-get indextargets --format '$(CREATED_BY)|$(REPO_URI)|$(COMPONENT)' |
    awk -F'|' -v uri="$uri" '$1 == "Packages" && $2 == uri { print $3 }' | sort -u | xargs)
  echo "$uri $codename $components"
}

# private_apt NAME SUITE TYPE makes an apt configuration of our own in the cache folder for SUITE of
# the machine's mirror, fetches its lists, and sets the array private_apt_options for apt-get.
private_apt() {
  local dir="$farro_cache/apt/$1" suite=$2 type=$3 uri codename components keyring=
  read -r uri codename components < <(machine_mirror) || {
    [ "$(id -u)" -ne 0 ] || apt-get -o DPkg::Lock::Timeout=600 update >/dev/null 2>&1 || true
    read -r uri codename components < <(machine_mirror)
  } || fail "apt does not know a mirror of this distribution" "apt-get update"
  [ "$suite" != own ] || suite=$codename
  suite=${suite/#own-/$codename-}
  local file
  for file in /usr/share/keyrings/{debian,ubuntu}-archive-keyring.gpg; do
    [ ! -e "$file" ] || keyring=" [signed-by=$file]"
  done
  mkdir -p "$dir"/{lists/partial,archives/partial}
  echo "$type$keyring $uri $suite $components" >"$dir/sources.list"
  # The mirror may be a frozen one, whose lists of fast-moving suites have passed their date.
  private_apt_options=(
    -o Dir::Etc::SourceList="$dir/sources.list" -o Dir::Etc::SourceParts=-
    -o Dir::State::Lists="$dir/lists" -o Dir::Cache="$dir"
    -o Dir::Cache::Archives="$dir/archives" -o APT::Sandbox::User=root
    -o Acquire::Check-Valid-Until=false -o Acquire::Languages=none -o APT::Get::List-Cleanup=true -o APT::Update::Post-Invoke-Success=
  )
  quietly "apt-$1" "look at the network; does the machine's mirror carry $suite?" \
    apt-get "${private_apt_options[@]}" update
}
