import type { FrameFraming, Framing, FramingName } from '../http/framing/framing.ts'
import { frameStream } from './frame-stream.ts'
import { framedStream } from './framed-stream.ts'
import type { Lane } from './lane.ts'
import type { PassThroughLane } from './pass-through.ts'

const hasFrames = (framing: Framing): framing is FrameFraming => 'read' in framing

/**
 * Returns the pass-through lane for a client with another framing than server-sent events.
 *
 * @param hostFraming the framing of the upstream's host. Binary frames of the same kind pass as they are
 */
export const framedLane = (lane: PassThroughLane, framing: Framing, hostFraming: FramingName | undefined): Lane =>
  hasFrames(framing) && framing.name === hostFraming
    ? { ...lane, readsFrames: true, openStream: () => lane.openWith((options) => frameStream({ ...options, framing })) }
    : { ...lane, openStream: () => framedStream(lane.openStream(), framing) }
