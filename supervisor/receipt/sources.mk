RECEIPT_SOURCES = \
	supervisor/receipt/receipt.h \
	supervisor/receipt/receipt.c \
	supervisor/receipt/refusal.h \
	supervisor/receipt/refusal.c \
	supervisor/receipt/artifacts.c supervisor/receipt/capture.c \
	supervisor/receipt/output_text.h \
	supervisor/receipt/output_text.c \
	supervisor/receipt/receipt_json.c \
	supervisor/receipt/receipt_digest.c \
	supervisor/receipt/receipt_text.c
