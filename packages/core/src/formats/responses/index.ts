export { responsesCodec } from './codec.ts'
