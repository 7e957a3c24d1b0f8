#!/bin/sh
# A day of incidents, in half an hour, for clients of "petstore-fake -plan free" on this machine.
set -e
fake=http://127.0.0.1:4010/_fake
on() { curl -fsS -o /dev/null "$@"; }

on -X PATCH -d minute=60 $fake/keys/1; sleep 60                # the minute is used up
on -X PATCH -d day=1000 $fake/keys/1; sleep 120                # so is the day
on -d advance=24h $fake/clock; sleep 60                        # until midnight
on -X PATCH -d ban=2m $fake/keys/1; sleep 180
on -X PATCH -d plan=pro $fake/keys/1; sleep 60                 # a larger plan
on -d status=503,retryAfter=5,chance=0.3,for=3m $fake/faults; sleep 240 # overload
on -d delay=5s,for=2m $fake/faults; sleep 180                  # slow
on -d wire=refuse,for=5m $fake/faults; sleep 360               # down
on -d operation=createPet,status=503,afterCommit=true,times=5 $fake/faults; sleep 60
on -d '[{"wire":"truncate","times":5},{"drip":"40s","times":5},{"wire":"stall"}]' $fake/faults
sleep 120
on -d wire=login-page,for=1m $fake/faults; sleep 120           # a proxy is in the way
on -d advance=-1h $fake/clock; sleep 60                        # the clock is set back
on -X PATCH -d revoked=true $fake/keys/1; sleep 60
on -d key=fake-api-key,plan=free $fake/keys
