# Emberdice in a shell: `. ./emberdice.sh`, then `roll Zoé 4 hard`. Needs curl, and in the environment:
#   EMBERDICE_URL=http://localhost:8000 EMBERDICE_SESSION=… EMBERDICE_TOKEN=ember_chat_…

# ember WHAT NAME=VALUE… asks a one-liner. Everything goes to curl in a file, so that no list of processes shows the token;
# the key lets curl ask again without a second throw.
ember() {
	ember_what=$1
	shift
	{
		printf 'get\nsilent\nshow-error\nmax-time = 20\nretry = 4\nretry-all-errors\n'
		printf 'url = "%s/v1/quick/%s/%s"\n' "$EMBERDICE_URL" "$EMBERDICE_SESSION" "$ember_what"
		for ember_each in "token=$EMBERDICE_TOKEN" "idempotency_key=$(od -An -N12 -tx1 /dev/urandom | tr -d ' \n')" "$@"; do
			printf 'data-urlencode = "%s"\n' "$(printf %s "$ember_each" | tr '\n' ' ' | sed 's/[\\"]/\\&/g')"
		done
	} | curl --config -
}

roll() { ember roll "character=$1" "base=$2" ${3:+"difficulty=$3"} ${4:+"red=$4"}; }
hit() { ember damage "character=$1" "die=$2" ${3:+"soak=$3"} ${4:+"soak_base=$4"}; }
heal() { ember heal "character=$1" "care=$2" "base=$3" ${4:+"level=$4"}; }
draw() { ember draw "character=$1" ${2:+"count=$2"} ${3:+"deck=$3"}; }
cards() { ember cards ${1:+"character=$1"}; }
timers() { ember timers "character=$1"; }
