import type { GatewayConfig } from './config.ts'
import type { UpstreamFormat } from './formats/ir.ts'
import { clientFormats, wireCodecOf } from './formats/wire.ts'
import { translator } from './lanes/choose.ts'
import { outliner } from './read-request.ts'

/**
 * Begins to load what calls can need, and returns at once. One thing after another, the likeliest first, and only until the
 * first call: it begins what it needs itself, and should not have to share the processor with what nobody may ever need.
 *
 * @param isCalled whether a call has come
 */
export function preload(upstreams: GatewayConfig['upstreams'], isCalled: () => boolean): void {
  const spoken = new Set(Object.values(upstreams).flatMap(({ formats }) => Object.keys(formats) as UpstreamFormat[]))
  if (spoken.size === 0) return
  const clients = [...clientFormats].sort((a, b) => Number(spoken.has(b)) - Number(spoken.has(a)))
  const edits = Object.values(upstreams).flatMap(({ quirks }) =>
    clients.map((format) => () => wireCodecOf(format).wireReady?.({ model: '', quirks })),
  )
  const parts = [
    ...clients.map((format) => wireCodecOf(format).validation),
    ...edits,
    translator,
    ...new Set([...spoken, ...clients].map((format) => wireCodecOf(format).whole)),
    outliner,
  ]
  const next = async (): Promise<void> => {
    for (const part of parts) {
      if (isCalled()) return
      await part()
    }
  }
  // Whoever needs it finds out by himself that it cannot be loaded.
  next().catch(() => {})
}
