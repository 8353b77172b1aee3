import type { GatewayConfig } from './config.ts'
import type { UpstreamFormat } from './formats/ir.ts'
import { codecLoaders } from './formats/load-codec.ts'
import { clientFormats, wireCodecOf } from './formats/wire.ts'
import { translator } from './lanes/choose.ts'
import { outliner } from './read-request.ts'

/** Loads a part of the gateway, or returns it if it has been loaded. */
type Loader = () => unknown

/**
 * Starts to load the parts that calls can need, and returns immediately. Loads one part after another, and stops at the first call: a
 * call loads the parts it needs itself, and should not compete with others for the processor.
 *
 * @param isCalled whether a call has arrived
 */
export const preload = (upstreams: GatewayConfig['upstreams'], isCalled: () => boolean): void =>
  loadInTurn(partsFor(upstreams), isCalled)

/** The loaders of the parts that calls to these upstreams can need, the likeliest first. */
export function partsFor(upstreams: GatewayConfig['upstreams']): readonly Loader[] {
  const spoken = new Set(Object.values(upstreams).flatMap(({ formats }) => Object.keys(formats) as UpstreamFormat[]))
  if (spoken.size === 0) return []
  const clients = [...clientFormats].sort((a, b) => Number(spoken.has(b)) - Number(spoken.has(a)))
  const edits = Object.values(upstreams).flatMap(({ quirks }) =>
    clients.map((format) => () => wireCodecOf(format).wireReady?.({ model: '', quirks })),
  )
  return [
    ...clients.map((format) => wireCodecOf(format).validation),
    ...edits,
    translator,
    ...new Set([...spoken, ...clients].map((format) => codecLoaders[format])),
    outliner,
  ]
}

/** Calls the loaders one after another until `isStopped` returns true or one fails. Never throws. */
export function loadInTurn(parts: readonly Loader[], isStopped: () => boolean): void {
  const next = async (): Promise<void> => {
    for (const part of parts) {
      if (isStopped()) return
      await part()
    }
  }
  // The call that needs the part reports the error.
  next().catch(() => {})
}
