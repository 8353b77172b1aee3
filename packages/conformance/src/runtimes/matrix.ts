import { join } from 'node:path'
import { createFakeProvider, listen, listenRealtime } from '@modelgate/testing'
import { upstreamKey } from '../base/gateways.ts'
import { startUpstream } from '../base/raw-upstream.ts'
import { remoteTarget } from '../torture/remote-target.ts'
import type { Check, RuntimeTarget, Tally } from './check.ts'
import type { Installed } from './install.ts'
import type { Pin } from './pins.ts'
import type { Project } from './project.ts'
import { type Served, start } from './start.ts'

const token = 'client-token-93b1f2c4'

/** One cell: the result of a check and its duration. */
export interface Cell {
  readonly name: string
  readonly tally: Tally
  readonly seconds: number
}

/** One row: the results of a runtime. */
export interface Row {
  readonly pin: Pin
  readonly version: string
  /** Results of the checks, or the reason why there are none. */
  readonly outcome: { readonly cells: readonly Cell[] } | { readonly absent: string }
}

export const hasFailures = ({ tally }: Cell): boolean => 'held' in tally && tally.held < tally.total

export interface MatrixOptions {
  /** Path of this repository. */
  readonly root: string
  readonly project: Project
  readonly checks: readonly Check[]
  /** Results of the first runtime, with which the others are compared. */
  readonly reference: Map<string, string>
  readonly full: boolean
  /** URL of a Redis; undefined if the machine has none. */
  readonly redis: string | undefined
}

/** Starts the gateway in a runtime and runs every check, one after the other. */
export async function checkRuntime(pin: Pin, installed: Installed, asking: MatrixOptions): Promise<Row> {
  if ('absent' in installed) return { pin, version: pin.version, outcome: installed }
  const providers = createFakeProvider({ apiKey: upstreamKey, now: () => 1_800_000_000_000 })
  const [listening, live, stage] = await Promise.all([
    listen(providers),
    listenRealtime({ apiKey: upstreamKey }),
    startUpstream(0),
  ])
  const { project, checks, ...rest } = asking
  const cells: Cell[] = []
  try {
    const { program } = installed
    const served = await start(pin, program, project, {
      PROVIDERS: listening.origin,
      LIVE: live.url,
      STAGE: stage.origin,
      KEY: upstreamKey,
      TOKEN: token,
      REDIS: asking.redis ?? '',
      FOLDER: join(project.folder, `tokens-${pin.name}`),
    })
    const place = { pin, program, project, token, providers, scriptedUpstream: stage, ...rest, ...targetsOf(served) }
    try {
      for (const check of checks) cells.push(await askOne(check, place))
    } finally {
      await served.stop()
    }
  } catch (error) {
    cells.push({ name: 'starts', tally: broken(error), seconds: 0 })
  } finally {
    await Promise.all([stage.close(), live.close(), listening.close()])
  }
  return { pin, version: installed.version, outcome: { cells } }
}

const targetsOf = ({
  origin,
  log,
}: Served): Pick<RuntimeTarget, 'origin' | 'withDefaults' | 'strict' | 'withShortLimits' | 'withShortHeartbeat'> => {
  const at = (prefix: string) => ({ ...remoteTarget({ url: `${origin}${prefix}`, token }), log })
  return {
    origin,
    withDefaults: at(''),
    strict: at('/strict'),
    withShortLimits: at('/hasty'),
    withShortHeartbeat: at('/beating'),
  }
}

async function askOne(check: Check, place: RuntimeTarget): Promise<Cell> {
  const begun = performance.now()
  const tally = await check.run(place).catch(broken)
  return { name: check.name, tally, seconds: (performance.now() - begun) / 1000 }
}

const broken = (error: unknown): Tally => {
  const text = error instanceof Error ? (error.stack ?? error.message) : String(error)
  return { held: 0, total: 1, complaints: [text] }
}
