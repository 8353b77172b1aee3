export { messagesCodec } from './codec.ts'
