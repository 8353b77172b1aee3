export { demoBrain } from './brain.ts'
export { FaultError } from './faults.ts'
export { type ListeningProvider, type ListenOptions, listen } from './listen.ts'
export type {
  Prompt,
  PromptMedia,
  PromptTool,
  PromptToolChoice,
  PromptToolResult,
  PromptTurn,
  Segment,
} from './prompt.ts'
export { createFakeProvider, type FakeProvider } from './provider.ts'
export {
  createFakeRealtime,
  type FakeRealtime,
  type FakeRealtimeOptions,
  type FakeRealtimeSession,
  type ListeningRealtime,
  listenRealtime,
  type RealtimeRefusal,
} from './realtime.ts'
export { sampleOf } from './schema-sample.ts'
export type {
  FakeFormat,
  FakeOperation,
  FakeProviderOptions,
  FakeStats,
  Fault,
  FinishWord,
  FormPart,
  Json,
  JsonObject,
  Matcher,
  RawEvent,
  RawReply,
  RecordedRequest,
  Reply,
  Script,
  ScriptedCitation,
  ScriptedThinking,
  ScriptedToolCall,
  UsageNumbers,
} from './types.ts'
