import type { Format, SharedFormat, UpstreamFormat } from '../base/names.ts'
import { chatCodec } from './chat/codec.ts'
import type { ClientCodec, Codec, UpstreamCodec } from './codec.ts'
import { converseCodec } from './converse/index.ts'
import { geminiCodec } from './gemini/codec.ts'
import { messagesCodec } from './messages/index.ts'
import { ollamaCodec } from './ollama/codec.ts'
import { responsesCodec } from './responses/codec.ts'

/** The full codecs of all shared formats, for tests and benchmarks. Calls load single codecs with `loadCodec` instead. */
export const codecs: readonly Codec[] = [chatCodec, messagesCodec, geminiCodec, responsesCodec, converseCodec]

/** The full codecs of all formats that clients speak. */
export const clientCodecs: readonly ClientCodec[] = [...codecs, ollamaCodec]

/** The full codecs of all formats that upstreams speak. */
export const upstreamCodecs: readonly UpstreamCodec[] = [...codecs]

const byFormat = new Map<string, ClientCodec | UpstreamCodec>(
  [...clientCodecs, ...upstreamCodecs].map((codec) => [codec.format, codec]),
)

/** Returns the full codec of a format. Throws for an unknown format. */
export function codecOf(format: SharedFormat): Codec
export function codecOf(format: Format): ClientCodec
export function codecOf(format: UpstreamFormat): UpstreamCodec
export function codecOf(format: string): ClientCodec | UpstreamCodec {
  const codec = byFormat.get(format)
  if (codec === undefined) throw new TypeError(`No codec is registered for the format '${format}'`)
  return codec
}
