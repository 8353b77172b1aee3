import type { Format, UpstreamFormat } from '../base/names.ts'
import { chatCodec } from './chat/codec.ts'
import type { Codec, UpstreamCodec } from './codec.ts'
import { converseCodec } from './converse/index.ts'
import { geminiCodec } from './gemini/codec.ts'
import { messagesCodec } from './messages/index.ts'
import { responsesCodec } from './responses/codec.ts'

/** The full codecs of all formats that clients speak, for tests and benchmarks. Calls load single codecs with `loadCodec` instead. */
export const codecs: readonly Codec[] = [chatCodec, messagesCodec, geminiCodec, responsesCodec]

/** The full codecs of all formats that upstreams speak. */
export const upstreamCodecs: readonly UpstreamCodec[] = [...codecs, converseCodec]

const byFormat = new Map<UpstreamFormat, UpstreamCodec>(upstreamCodecs.map((codec) => [codec.format, codec]))

/** Returns the full codec of a format. Throws for an unknown format. */
export function codecOf(format: Format): Codec
export function codecOf(format: UpstreamFormat): UpstreamCodec
export function codecOf(format: UpstreamFormat): UpstreamCodec {
  const codec = byFormat.get(format)
  if (codec === undefined) throw new TypeError(`No codec is registered for the format '${format}'`)
  return codec
}
