export type { Json, JsonObject } from './base/json.ts'
export type { FakeProviderOptions } from './contract/options.ts'
export type {
  Prompt,
  PromptMedia,
  PromptTool,
  PromptToolChoice,
  PromptToolResult,
  PromptTurn,
  Segment,
} from './contract/prompt.ts'
export type { FakeFormat, FakeOperation, FakeStats, FormPart, Matcher, RecordedRequest } from './contract/request.ts'
export type {
  Fault,
  FinishWord,
  RawEvent,
  RawReply,
  Script,
  ScriptedCitation,
  ScriptedReply,
  ScriptedThinking,
  ScriptedToolCall,
  UsageNumbers,
} from './contract/script.ts'
export { demoBrain } from './demo/brain.ts'
export { sampleOf } from './demo/schema-sample.ts'
export { createFakeProvider, type FakeProvider } from './provider/provider.ts'
export { type ListeningProvider, type ListenOptions, listen } from './servers/listen.ts'
export {
  createFakeRealtime,
  type FakeRealtime,
  type FakeRealtimeOptions,
  type FakeRealtimeSession,
  type ListeningRealtime,
  listenRealtime,
  type RealtimeRefusal,
} from './servers/realtime.ts'
export {
  createResponsesSockets,
  type FakeResponsesSocket,
  type FakeResponsesSockets,
  type FakeResponsesSocketsOptions,
} from './servers/responses-socket.ts'
export { FaultError } from './wire/faults.ts'
