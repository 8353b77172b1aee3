import type { Format, UpstreamFormat } from '../base/names.ts'
import { chatWire } from './chat/wire.ts'
import type { UpstreamWireCodec, WireCodec } from './codec.ts'
import { converseWire } from './converse/wire.ts'
import { geminiWire } from './gemini/wire.ts'
import { messagesWire } from './messages/wire.ts'
import { responsesWire } from './responses/wire.ts'

/** Every format that clients speak, as far as every call needs it. A new one adds itself here and to `codecs`. */
const wireCodecs: readonly WireCodec[] = [chatWire, messagesWire, geminiWire, responsesWire]

/** The same for those that upstreams speak. */
const upstreamWireCodecs: readonly UpstreamWireCodec[] = [...wireCodecs, converseWire]

export const clientFormats: readonly Format[] = wireCodecs.map(({ format }) => format)

const byFormat = new Map<UpstreamFormat, UpstreamWireCodec>(upstreamWireCodecs.map((codec) => [codec.format, codec]))

/** Throws for a format without a codec, which configuration checks rule out. */
export function wireCodecOf(format: Format): WireCodec
export function wireCodecOf(format: UpstreamFormat): UpstreamWireCodec
export function wireCodecOf(format: UpstreamFormat): UpstreamWireCodec {
  const codec = byFormat.get(format)
  if (codec === undefined) throw new TypeError(`There is no codec for the format '${format}'`)
  return codec
}
export const hasCodec = (format: UpstreamFormat): boolean => byFormat.has(format)
