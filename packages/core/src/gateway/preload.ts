import { streamRelay } from '../calls/attempt.ts'
import type { GatewayConfig } from '../config/config.ts'
import { clientFormats, codecLoaders, isSharedCodec, isUpstreamFormat, loadWire } from '../formats/codec-registry.ts'
import { streams } from '../lanes/pass-through.ts'
import type { Edition } from './edition.ts'
import { loadLazyBody } from './read-body.ts'

/**
 * Loads what calls can need, in the background. Loads one module after another, the likeliest first, and stops at the first
 * call: a call loads what it needs itself, and should not share the processor with modules that may never be needed.
 *
 * @param isCalled whether a call has arrived
 * @returns a promise that resolves at the end of the loading, and never rejects
 */
export function preload(
  edition: Edition,
  upstreams: GatewayConfig['upstreams'],
  isCalled: () => boolean,
): Promise<void> {
  // A call that needs a module which cannot be loaded reports it.
  return loadInTurn(preloadedParts(edition, upstreams), isCalled).catch(() => {})
}

/** Runs loaders one after another until a call arrives or a loader fails. */
export async function loadInTurn(loaders: readonly (() => unknown)[], isCalled: () => boolean): Promise<void> {
  for (const load of loaders) {
    if (isCalled()) return
    await load()
  }
}

/** The loaders of all modules that calls can need, the likeliest first: formats that upstreams speak before the other ones. */
export function preloadedParts(edition: Edition, upstreams: GatewayConfig['upstreams']): (() => unknown)[] {
  const spoken: ReadonlySet<string> = new Set(Object.values(upstreams).flatMap(({ formats }) => Object.keys(formats)))
  if (spoken.size === 0) return []
  const clients = [...clientFormats()].sort((a, b) => Number(spoken.has(b)) - Number(spoken.has(a)))
  const edits = Object.values(upstreams).flatMap(({ quirks }) =>
    clients.map((format) => async () => {
      const codec = await loadWire(format)
      return isSharedCodec(codec) ? codec.prepareWireEdit?.({ model: '', quirks }) : undefined
    }),
  )
  return [
    ...clients.map((format) => async () => (await loadWire(format)).loadRequestCheck()),
    ...edits,
    streamRelay,
    streams,
    ...(edition.translates ? [edition.parts.loadTranslation] : []),
    ...new Set([...[...spoken].filter(isUpstreamFormat), ...clients].flatMap((format) => codecLoaders[format] ?? [])),
    loadLazyBody,
  ]
}
