#!/bin/sh
# Causes a day of incidents within half an hour, for clients of "petstore-fake -plan free" on this
# machine. After each step, sleep gives the clients time to meet the incident and to recover.
set -e
fake=http://127.0.0.1:4010/_fake
on() { curl -fsS -o /dev/null "$@"; }

on -X PATCH -d minute=60 $fake/keys/1; sleep 60                # the limit of the minute is used up
on -X PATCH -d day=1000 $fake/keys/1; sleep 120                # the limit of the day is used up
on -d advance=24h $fake/clock; sleep 60                        # the next day begins
on -X PATCH -d ban=2m $fake/keys/1; sleep 180                  # the key is banned
on -X PATCH -d plan=pro $fake/keys/1; sleep 60                 # the key gets a larger plan
on -d status=503,retryAfter=5,chance=0.3,for=3m $fake/faults; sleep 240 # the service is overloaded
on -d delay=5s,for=2m $fake/faults; sleep 180                  # the service is slow
on -d wire=refuse,for=5m $fake/faults; sleep 360               # the service is down
on -d operation=createPet,status=503,afterCommit=true,times=5 $fake/faults; sleep 60
on -d '[{"wire":"truncate","times":5},{"drip":"40s","times":5},{"wire":"stall"}]' $fake/faults
sleep 120
on -d wire=login-page,for=1m $fake/faults; sleep 120           # a proxy sends its login page
on -d advance=-1h $fake/clock; sleep 60                        # the clock is set back
on -X PATCH -d revoked=true $fake/keys/1; sleep 60
on -d key=fake-api-key,plan=free $fake/keys
