#!/bin/sh
# The drain hook: runs as preStop inside the server's container, waits until no request is in flight, ends with 0.
# Every parameter is an argument (settle= drain= ports= guess= url= gauge= absent= idle= key= log= record= call= chain=
# -- argv), nothing here is generated. It needs a shell and, where they exist, sleep and a fetcher (see fetchers below).
# Never here: a port, path or metric name of one engine (profiles hold those), temp files, a non-zero exit.
# Rules, limits and what each fetcher can tell: docs/hook.md. Times are hundredths of a second since the start.
# Commands in variables are split at newlines (SC2086, SC2089, SC2090), functions called through bound (SC2317, SC2329).
# shellcheck disable=SC2086,SC2089,SC2090,SC2317,SC2329

# An error of ours must not become a FailedPreStopHook event.
exec 2>/dev/null
trap 'exit 0' 0
set -f
TAB='	' NL='
'
IFS=$NL
settle=10 drain=95 idle=5 ports='' urls='' gauges='' names='#end' guess='' absent=unknown key='' call='' chain=''
log=/proc/1/fd/1 record=/dev/termination-log
fetchers="curl${NL}wget${NL}python3${NL}bash"

# Unknown parameters are ignored: an older pod may meet a newer script, and the reverse.
while [ $# -gt 0 ]; do
	v=${1#*=}
	case $1 in
	--) shift; break ;;
	settle=* | drain=* | idle=*) case $v in '' | *[!0-9]* | 0?* | ??????*) ;; *) eval "${1%%=*}=$v" ;; esac ;;
	key=*) case $v in [0-9]* | *[!A-Za-z0-9_]*) ;; *) key=$v ;; esac ;;
	url=*) urls=$urls$v$NL ;;
	gauge=*) gauges=$gauges$v$NL names="$names$NL${v%%\{*}" ;;
	ports=* | guess=* | absent=* | log=* | record=* | call=* | chain=*) eval "${1%%=*}=\$v" ;;
	esac
	shift
done

# A connection by hand, in bash: reads chunked answers too, a cut one fails. 7 is curl's code for refused.
# shellcheck disable=SC2016
bash_get='LC_ALL=C; u=${1#http://} a=${u%%/*} h=${a%:*} c= n= t=0
{ exec 3<>"/dev/tcp/${h//[][]/}/${a##*:}"; } || exit 7
printf "%s\r\n" "GET ${u#"$a"} HTTP/1.1" "Host: $a" "Connection: close" ${2:+"Authorization: Bearer ${!2}"} "" >&3
while IFS= read -r l; do
l=${l%[[:cntrl:]]}; echo "$l"
case ${l,,} in "") h=; break ;; transfer-encoding:*chunked*) c=1 ;; content-length:*) n=${l#*: } ;; esac
done <&3
[[ $h ]] && exit 1
while [[ $c ]]; do
IFS= read -r l <&3 && n=$((16#${l%%[!0-9a-fA-F]*})) || exit 1; ((n)) || exit 0
IFS= read -rN $n b <&3 && printf %s "$b" && read -r l <&3 || exit 1
done
while IFS= read -rN 65536 b || [[ $b ]]; do printf %s "$b"; t=$((t + ${#b})); done <&3
((t >= ${n:-0}))'
python_get='import http.client as h,os,sys
o,_,s,a=sys.argv[1].split("/",3);k=os.environ.get(sys.argv[2])
try:
 c=h.HTTPSConnection(s,context=__import__("ssl")._create_unverified_context())if o=="https:"else h.HTTPConnection(s)
 c.request("GET","/"+a,headers={"Authorization":"Bearer "+k}if k else{})
 r=c.getresponse();b=r.read();print("HTTP/1",r.status,flush=True);sys.stdout.buffer.write(b)
except ConnectionRefusedError:sys.exit(7)'
# One look of one fetcher: status line and page on stdout. A proxy of the pod is not for its own loopback.
# The key reaches curl on stdin and the others by environment: arguments are public in the pod, so never wget.
wget=-SO-
get() {
	unset http_proxy https_proxy all_proxy HTTP_PROXY HTTPS_PROXY ALL_PROXY
	k=''
	[ "$auth" ] && eval "k=\${$auth-}"
	case $1:${k:+key}:$2 in
	curl::*) exec curl -qgisk -m $s "$2" ;;
	curl:*) echo "Authorization: Bearer $k" | curl -qgisk -m $s -H @- "$2" ;;
	wget::https*) exec wget -qt1 $wget --no-check-certificate "$2" 2>&1 ;;
	wget::*) exec wget -qt1 $wget "$2" 2>&1 ;;
	python3:*) exec python3 -ISc "$python_get" "$2" "${k:+$auth}" ;;
	bash:*:http:*) exec bash -c "$bash_get" bash "$2" "${k:+$auth}" ;;
	*) return 127 ;;
	esac
}

# The clock: uptime by built-ins, else date, else what nap and fetch have counted. Seven digits behind a one, so that
# neither a leading zero (octal) nor 32-bit arithmetic breaks it.
t=0 t0=''
now() {
	if read -r u </proc/uptime; then u=${u%% *} u=${u%.*}${u#*.}; else u=$(date +%s)00; fi
	case $u in 00 | *[!0-9]*) return ;; esac
	u=000000$u u=1${u#"${u%???????}"}
	t0=${t0:-$u} t=$(((u - ${t0:-$u} + 20000000) % 10000000))
}
# Half a second between looks; a whole one where sleep knows no fractions. No sleep: python3 or bash wait as well;
# without them the loop watches the clock.
spin() { now; e=$((t + $1 * 100)); while [ "$t0" ] && [ $t -lt $e ]; do now; done; }
tenths=1 step=50 least=20 exec='exec' sleeper='sleep'
# shellcheck disable=SC2016
if sleep 0.01; then :
elif sleep 0; then tenths='' step=100 least=100
elif sleeper="python3${NL}-ISc${NL}import sys,time;time.sleep(float(sys.argv[1]))" && $sleeper 0; then :
elif sleeper='bash
-c
coproc { read; }; read -rt "$0" <&${COPROC[0]}; :' && $sleeper 0.01; then :
else tenths='' step=100 least=100 exec='' sleeper=spin; fi
seconds() { s=$(($1 / 100))${tenths:+.$(($1 % 100 / 10))}; }
nap() {
	seconds $1
	$exec $sleeper $s >/dev/null &
	wait $!
	t=$((t + $1))
}
# Runs a command as a child and kills it when its time is up: `wget -T` crashes or hangs on some images. A command that
# ends kills the sleep; every process is waited for, since PID 1 of many images reaps none and an hour of looks is long.
bound() {
	seconds $1
	shift
	$exec $sleeper $s >/dev/null &
	p=$!
	(trap 'kill -9 $q; wait $q; exit 137' TERM; "$@" & q=$!; wait $q; r=$?; kill -9 $p; exit $r) &
	c=$!
	wait $p && kill $c
	wait $c
}

put() { case $1 in none) ;; -) echo "$2" ;; *) echo "$2" >>"$1" ;; esac; }
say() { bound 100 put "$log" "drainhook: $1"; }
finish() {
	trap : TERM INT HUP
	now
	say "end after $((t / 100)) s: $1 ($2)"
	[ "$busy" ] && d=$((busy % 100 + 100)) && busy=$((busy / 100)).${d#1}
	i="\"inflight_start\":${start:-null},\"inflight_end\":${n:-null},\"connections_end\":${open:-null}"
	i="$i,\"settle\":$settle,\"last_busy\":${busy:-null},\"seconds\":$((t / 100))"
	bound 100 put "$record" "{\"drainhook\":1,$i,\"end\":\"$1\"}"
	exit 0
}

# Established connections of the serving ports from both tables, nothing discounted; empty when it cannot be known.
# A table that never shows a listener while a server answers (some sandboxes) is not believed. Built-ins are enough,
# but thousands of closed connections take them minutes in bash: grep and cat come first, and there is a limit.
tables="/proc/net/tcp$NL/proc/net/tcp6"
lines() { for f in $tables; do [ -r $f ] && while read -r l; do echo "$l"; done <$f; done; :; }
scan() {
	open='' up='' listeners=''
	[ -r /proc/net/tcp ] || return
	l=$(grep -hE ' (01|0A|st) ' $tables)
	[ "$l" ] || l=$(cat $tables)
	[ "$l" ] || l=$(bound 100 lines) || return
	open=0
	for l in $l; do
		case $l in *' 01 '* | *' 0A '*) a=${l#*: } a=${a%% *} ;; *) continue ;; esac
		p=$((0x${a##*:}))
		case $l in *' 0A '*) listeners=$listeners$a$NL ;; esac
		case ,$ports,$l in *,$p,*' 01 '*) open=$((open + 1)) ;; *,$p,*) up=1 believed=1 ;; esac
	done
	# Guessed ports of which none listens: every listening port counts, for a wrong guess must lose no request.
	case $guess:$up:$listeners in 1::?*)
		for a in $listeners; do ports=$ports,$((0x${a##*:})); done
		guess='' && scan ;;
	esac
	case $ports:$believed:$status in :* | *::[1-9]*) open='' ;; esac
}
# Dead or not yet started: a restart must not wait. A server that closed its port and still answers is not dead.
leave_if_dead() { [ "$open$up" = 0 ] && finish not_listening "nothing listens on port $ports"; }

# Gets a URL within a limit into page; status is a number, refused, timeout, unreadable or no fetcher.
fetch() {
	now
	status='timeout' l=$((end - t))
	[ $l -gt $2 ] && l=$2
	[ $l -ge $least ] || return
	while f=${fetchers%%"$NL"*}; do
		page=$(bound $l get "$f" "$1")
		r=$?
		case $f:$r in ?*:12[67] | ?*:139) fetchers=${fetchers#"$f"} fetchers=${fetchers#"$NL"} ;; *) break ;; esac
	done
	status='' v=${page%%"$NL"*}
	case $v in *HTTP/[0-9]*) v=${v#*HTTP/} v=${v#* } status=${v%%[!0-9]*} ;; esac
	case $f:$r:$status in
	*:0:?* | *:*:[1345]??) ;;
	wget:0:) status=200 ;;
	*:28:* | *:137:*) status='timeout'; [ "$t0" ] || t=$((t + l)) ;;
	*:7: | *:4:) status='refused' ;;
	:*) status='no fetcher' ;;
	*) status='unreadable'; case $page in *refused*) status='refused' ;; *ption*) wget=-O- ;; esac ;;
	esac
}
# The tables write addresses as little-endian words of hexadecimal digits.
address() {
	h=$1 host=''
	while [ "$h" ]; do
		d=${h#????????} w=${h%"$d"} h=$d a=${w%??????} c=${w#????} b=${w#"$a"} b=${b%????} d=${c#??} c=${c%??}
		case $1 in ????????) host=$((0x$d)).$((0x$c)).$((0x$b)).$((0x$a)) ;; *) host=$host:$d$c:$b$a ;; esac
	done
	case $host in :*) host="[${host#:}]" ;; esac
}
# A server bound to the pod's address refuses 127.0.0.1: ask where it listens.
reach() {
	url=$1 q=${1#*://*/}
	p=${1%"/$q"}
	p=${p##*:}
	fetch "$url" $2
	for x in $listeners; do
		[ "$status" = refused ] || break
		[ $((0x${x##*:})) = "$p" ] || continue
		address ${x%:*}
		url=${1%%:*}://$host:$p/$q
		fetch "$url" $2
	done
}

# A sample as a whole number in i, rounded up between 0 and 1; fails for NaN, Inf and below zero.
number() {
	i=$1 f='' e=0
	case $i in -*[1-9]*) return 1 ;; esac
	i=${i#[-+]}
	case $i in *[eE]*) e=${i#*[eE]} i=${i%%[eE]*} e=${e#+} e=${e#0} ;; esac
	case $i in *.*) f=${i#*.} i=${i%%.*} ;; esac
	case $i$f in '' | *[!0-9]*) return 1 ;; *[1-9]*) ;; *) i=0 && return ;; esac
	case $e in -*) i=1 && return ;; esac
	while [ "$e" -gt 0 ] && [ ${#i} -lt 9 ]; do
		d=${f%"${f#?}"} f=${f#?} e=$((e - 1)) i=$i${d:-0}
	done
	while :; do case $i in 0*) i=${i#0} ;; *) break ;; esac; done
	case $i in '') i=1 ;; ?????????*) i=99999999 ;; esac
}
# Adds up every series of every gauge. Busy if one says so; zero only if each is known. A long page costs bash half a
# second of CPU, so grep cuts it where there is one and, by the last line, nothing went wrong.
count() {
	n=0
	v=$(printf '%s\n' "$page" '#end' | grep -F "$names"; :)
	case $v in *'#end') page=$v ;; esac
	for g in $gauges; do
		m=${g%%\{*} q='' hit=''
		case $g in *\{*) q=${g#*\{} q=${q%\}} ;; esac
		for v in $page; do
			case $v in "$m"[\{\ "$TAB"]*) ;; *) continue ;; esac
			case $q:$v in :* | *[\{,\ ]"$q"[,\}]*) ;; *) continue ;; esac
			hit=idle v=${v#"$m"} v=${v##*\}} x=${v%%[!\ "$TAB"]*}
			v=${v#"$x"}
			if number "${v%%[!-+.0-9A-Za-z]*}"; then n=$((n + i)); else why=${why:-$m is no number}; fi
		done
		case $hit$absent in idle*) ;; *) why=${why:-no $m on the page} ;; esac
	done
	[ $n = 0 ] && [ "$why" ] && n=''
}
# In flight by the gauges in n, empty when unknown: unknown is never zero.
look() {
	n='' why='no gauge' auth=$key
	for u in ${gauges:+$urls}; do
		reach "$u" $1
		why=$status
		[ "$status" = 200 ] || continue
		why=''
		case $page in *"$NL"[\<\{]*) why='not a metrics page' ;; *) count ;; esac
		[ "$n" ] && urls=$url && break
	done
	auth=''
}

now
end=$(((settle + drain) * 100)) n='' start='' busy='' open='' auth='' status='' believed='' listeners=''
trap 'finish signal SIGTERM' TERM INT HUP
say "settle $settle s, drain up to $drain s"
scan
look 100
start=$n
case $n in '' | 0) ;; *) busy=$t ;; esac
# The user's own hook first, then the server's own drain endpoint; neither may fail this hook or outlive it.
[ "$chain" ] && reach "$chain" $end
now
[ $# -gt 0 ] && bound $((end - t)) "$@" >/dev/null
if [ "$call" ]; then
	reach "$call" $end
	case $status in 2??) look 100; scan; finish called "$call" ;; esac
	say "no answer from $call: $status"
fi
# Settle: endpoints and routers need time to forget the pod, so an idle moment now proves nothing.
while now; scan; leave_if_dead; l=$((settle * 100 - t)); [ $l -ge $least ]; do
	[ $l -gt 100 ] && l=100; nap $l
done
quiet='' said='' next=0 informed=$start$open
while now; [ $((end - t)) -ge $least ]; do
	began=$t
	look 300
	start=${start:-$n}
	scan
	now
	leave_if_dead
	informed=$informed$n$open
	text="in flight ${n:-unknown}${why:+ ($why)}, connections ${open:-unknown}"
	case $n:$open in
	0:0) finish idle "$text" ;;
	0:*) cause=idle quiet=${quiet:-$t} ;;
	:0) cause=no_connections quiet=${quiet:-$t} ;;
	*) quiet='' busy=$t ;;
	esac
	[ "$quiet" ] && [ $((began - quiet)) -ge $((idle * 100)) ] && finish $cause "$text"
	if [ "$text" != "$said" ] && [ $t -ge $next ]; then
		say "$((t / 100)) s: $text"
		said=$text next=$((t + 500))
	fi
	[ $((end - t)) -gt $step ] || break
	nap $step
done
[ "$informed" ] && finish deadline "$text"
finish slept 'neither requests in flight nor connections can be counted'
