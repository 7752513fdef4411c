/** Bytes of the formats that other programs read: checksums, protocol buffers, files that grow by whole calls. */
export { type Crc, crc32, crc32c } from "./crc.ts";
export { type Field, fieldsOf } from "./fields.ts";
export { MessageBytes } from "./message-bytes.ts";
export { StagedFile } from "./staged-file.ts";
