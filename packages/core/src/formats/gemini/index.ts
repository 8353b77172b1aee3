export { geminiCodec } from './codec.ts'
