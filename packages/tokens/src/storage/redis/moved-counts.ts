import { createLru } from '../../base/lru.ts'
import type { Home, Meter } from '../../contract/meter-store.ts'
import { type Command, evaluate, script, toTexts } from './client.ts'
import type { MeterKeys } from './meter-keys.ts'
import { prelude, spanOf } from './meter-scripts.ts'

/*
 * The counters of a token are stored with those of its owner. If the owner changes, and with the first version that stores them so, the
 * counters have another place. What was counted at an earlier place is added at the new one, and stays where it is: processes
 * with an older version or an older record of the token go on counting there. The new place remembers how much of a counter it
 * has received from each earlier place, and adds only the difference. So the step can be repeated at any time, in any order and by any number
 * of processes. A place never passes on what it has received itself: otherwise counts would multiply when a token returns to an owner.
 */

/** Time between two imports of a counter, while processes may still count at an earlier place. */
const repeatMs = 60_000
/** Time for which they may: longer than a call, and than a gradual update of all processes. */
const repeatForMs = 3_600_000
/** Number of tokens whose imports are remembered. */
const maxTokens = 10_000

/**
 * Returns the counts that were made at a place itself. KEYS: for each meter, its counter and its counts from other places.
 * Returns for each meter: number of the window or period, its count, and the count of the previous one.
 */
const exportScript = script(`
local reply = {}
for n = 1, #KEYS, 2 do
  local kept = redis.call('HMGET', KEYS[n], 'i', 'c', 'p')
  local i, c, p = tonumber(kept[1]), tonumber(kept[2]) or 0, tonumber(kept[3]) or 0
  local moved = redis.call('HGETALL', KEYS[n + 1])
  for m = 2, #moved, 2 do
    local mi, mc, mp = string.match(moved[m], '^(-?%d+) (-?%d+) (-?%d+)$')
    if tonumber(mi) == i then c, p = c - mc, p - mp
    elseif i and tonumber(mi) == i - 1 then p = p - mc end
  end
  reply[#reply + 1] = i and string.format('%.0f', i) or ''
  reply[#reply + 1] = string.format('%.0f', c)
  reply[#reply + 1] = string.format('%.0f', p)
end
return reply`)

/**
 * Adds counts of another place, less what was added from there before. KEYS: as above. ARGV: name of the other place; then for each meter:
 * kind, span, and the three values of the export.
 */
const importScript = script(`${prelude}
local function aligned(i, si, sc, sp)
  if si == i then return sc, sp end
  if si == i - 1 then return 0, sc end
  if si == i + 1 then return sp, 0 end
  return 0, 0
end
for n = 1, #KEYS, 2 do
  local a = 2 + (n - 1) / 2 * 5
  local kind, span = ARGV[a], tonumber(ARGV[a + 1]) or ARGV[a + 1]
  local m = load(KEYS[n], kind, span)
  local c, p = aligned(m.i, tonumber(ARGV[a + 2]), tonumber(ARGV[a + 3]), tonumber(ARGV[a + 4]))
  local mi, mc, mp = string.match(redis.call('HGET', KEYS[n + 1], ARGV[1]) or '', '^(-?%d+) (-?%d+) (-?%d+)$')
  local bc, bp = aligned(m.i, tonumber(mi), tonumber(mc), tonumber(mp))
  if c ~= bc or p ~= bp then
    m.c, m.p = m.c + c - bc, m.p + p - bp
    save(KEYS[n], kind, span, m)
    redis.call('HSET', KEYS[n + 1], ARGV[1], text(m.i) .. ' ' .. text(c) .. ' ' .. text(p))
    local ms = kind == 'window' and 2 * span or lasts[span]
    if ms then redis.call('PEXPIRE', KEYS[n + 1], text(ms)) end
  end
end
return 1`)

/** State of the imports of a token at one home. */
interface Imports {
  /** By the counter's name: time of the next import, and of the last one. */
  readonly due: Map<string, { readonly nextAt: number; readonly until: number }>
  pending: Promise<void> | undefined
}

/** Brings the counts of a token from its earlier places to its current one. */
export interface MovedCounts {
  /** Resolves when the counters of the meters contain them. Does nothing for most calls. */
  bring(command: Command, tokenId: string, home: Home | undefined, meters: readonly Meter[]): Promise<void>
  /** Returns whether there is anything to bring. */
  isDue(tokenId: string, home: Home | undefined, meters: readonly Meter[]): boolean
}

export function createMovedCounts(keys: MeterKeys, now: () => number = () => performance.now()): MovedCounts {
  const tokens = createLru<Imports>(maxTokens)
  const importsOf = (tokenId: string, home: Home): Imports => {
    const id = `${tokenId} ${JSON.stringify(home)}`
    let imports = tokens.get(id)
    if (imports === undefined) {
      imports = { due: new Map(), pending: undefined }
      tokens.set(id, imports)
    }
    return imports
  }
  const dueMeters = ({ due }: Imports, meters: readonly Meter[]): Meter[] =>
    meters.filter(
      // Running calls are not brought: they end by themselves.
      ({ account, kind, name }) =>
        account === undefined && kind !== 'concurrent' && now() >= (due.get(name)?.nextAt ?? Number.NEGATIVE_INFINITY),
    )
  const bringFrom = async (
    command: Command,
    place: string | null,
    tokenId: string,
    home: Home,
    meters: readonly Meter[],
  ): Promise<boolean> => {
    const there: Home = { owner: place }
    const keysOf = (at: Home): string[] =>
      meters.flatMap((meter) => [keys.ofMeter(tokenId, at, meter), keys.ofMoved(tokenId, at, meter)])
    const counts = toTexts(await evaluate(command, exportScript, keysOf(there), []))
    if (meters.every((_, n) => counts[3 * n] === '')) return false
    const args = meters.flatMap((meter, n) => [meter.kind, spanOf(meter), ...counts.slice(3 * n, 3 * n + 3)])
    await evaluate(command, importScript, keysOf(home), [placeName(place), ...args])
    return true
  }
  return {
    isDue(tokenId, home, meters) {
      if (home === undefined || placesOf(home).length === 0) return false
      const imports = importsOf(tokenId, home)
      return imports.pending !== undefined || dueMeters(imports, meters).length > 0
    },
    async bring(command, tokenId, home, meters) {
      if (home === undefined) return
      const imports = importsOf(tokenId, home)
      if (imports.pending !== undefined) await imports.pending.catch(() => undefined)
      const due = dueMeters(imports, meters)
      if (due.length === 0) return
      const bringAll = async (): Promise<void> => {
        const found = await Promise.all(placesOf(home).map((place) => bringFrom(command, place, tokenId, home, due)))
        const at = now()
        for (const { name } of due) {
          const until = imports.due.get(name)?.until ?? at + repeatForMs
          const isOver = at >= until || !found.includes(true)
          imports.due.set(name, { nextAt: isOver ? Number.POSITIVE_INFINITY : at + repeatMs, until })
        }
      }
      const pending = bringAll().finally(() => {
        if (imports.pending === pending) imports.pending = undefined
      })
      imports.pending = pending
      await pending
    },
  }
}

/** Returns the places where the token may have been counted before. Without an owner is one, because older versions counted all there. */
const placesOf = ({ owner, former = [] }: Home): readonly (string | null)[] =>
  [...new Set([null, ...former])].filter((place) => place !== owner)

const placeName = (place: string | null): string => (place === null ? 'token' : `owner:${place}`)
