export { chatCodec } from './codec.ts'
